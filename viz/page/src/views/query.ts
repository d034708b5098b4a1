// SQL queries on the run's file, with prepared queries.

import type { Cell, Query } from "../answers.ts";
import { csv, errorOffset, exact } from "../csv.ts";
import { el, empty, fill } from "../dom.ts";
import { duration, plural } from "../format.ts";
import { kQuestions, olderOf } from "../questions.ts";
import { Table } from "../table.ts";
import type { View } from "../view.ts";

/** Maximum number of rows in the table; more would be slow. The CSV has all rows of the answer. */
const kShownRows = 500;

function text(cell: Cell): string {
  if (cell === null) return "NULL";
  if (typeof cell === "number" && !Number.isInteger(cell)) return String(Number(cell.toPrecision(10)));
  return String(cell);
}

function table(answer: Query): HTMLElement {
  // Two columns may have the same name, so columns are identified by their number.
  const isNumber = (column: number): boolean => answer.rows.some((row) => ["number", "bigint"].includes(typeof exact(row[column] ?? null)));
  const rows = new Table<Cell[]>(
    answer.columns.map((head, column) => ({
      id: String(column), head, isNumber: isNumber(column),
      cell: (row: Cell[]) => el("span", { class: row[column] === null ? "faint" : null }, text(row[column] ?? null)),
      value: (row: Cell[]) => exact(row[column] ?? null),
    })),
    { caption: "The answer" });
  rows.show(answer.rows.slice(0, kShownRows));
  return rows.element;
}

export const query: View = {
  id: "query",
  title: "Query",
  mount(root, page) {
    const editor = el("textarea", { rows: 7, spellcheck: "false", "aria-label": "SQL",
                                    placeholder: "SELECT ... FROM function_total" });
    const result = el("div", { class: "result" });
    const said = el("p", { class: "said", role: "status" });
    let asked: string | null = null;

    const ask = (): void => {
      const sql = editor.value.trim();
      if (sql === "") return;
      asked = null;  // Ask again, even if the query is the same.
      if (page.place.own.sql === sql) refresh();
      else page.go({ own: { sql } });
    };
    const copies = (answer: Query): HTMLElement[] => {
      const copy = el("button", { type: "button", click: () => {
        navigator.clipboard.writeText(csv(answer.columns, answer.rows)).then(
          () => copy.textContent = "Copied", () => copy.textContent = "The browser does not allow copying");
      } }, "Copy as CSV");
      const save = el("button", { type: "button", click: () => {
        const url = URL.createObjectURL(new Blob([csv(answer.columns, answer.rows)], { type: "text/csv" }));
        el("a", { href: url, download: "answer.csv" }).click();
        setTimeout(() => URL.revokeObjectURL(url), 1000);
      } }, "Save as CSV");
      return [copy, save];
    };
    const show = (answer: Query, tookMs: number): void => {
      const rows = plural(answer.rows.length, "row");
      const cut = answer.is_cut ? "; there are more, add LIMIT or a condition" : "";
      const hidden = answer.rows.length > kShownRows ? `; the first ${kShownRows} are shown` : "";
      fill(said, `${rows} in ${duration(tookMs * 1e6)}${cut}${hidden} `, ...copies(answer));
      fill(result, answer.rows.length > 0 ? table(answer)
        : empty("The query has no rows.", "Loosen a condition, or see Tables for the data."));
    };
    const failed = (message: string): void => {
      const older = olderOf(editor.value.trim(), message);
      if (older !== null) {
        editor.value = older;
        ask();
        return;
      }
      const at = errorOffset(message, editor.value);
      fill(said, el("span", { class: "bad" }, message));
      fill(result);
      if (at === null) return;
      editor.focus();
      editor.setSelectionRange(at, Math.max(at + 1, at + (/^\w+/.exec(editor.value.slice(at))?.[0].length ?? 1)));
    };
    const refresh = (): void => {
      const { sql } = page.place.own;
      // A query runs when the user asks for it, not at every commit.
      if (sql === undefined || sql === asked) return;
      asked = sql;
      editor.value = sql;
      fill(said, "Asking …");
      const began = performance.now();
      page.load("query", "query", { sql }, (answer) => show(answer, performance.now() - began), failed);
    };

    editor.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask();
    });
    fill(root,
      el("div", { class: "with-side" },
        el("div", { class: "question" }, editor,
          el("div", { class: "toolbar" },
            el("button", { type: "button", class: "main", click: ask, title: "Ctrl+Enter" }, "Ask"), said)),
        el("div", { class: "beside", role: "group", "aria-label": "Ready questions" },
          el("h2", {}, "Ready questions"),
          ...kQuestions.map(([title, sql]) =>
            el("button", { type: "button", class: "ready", title: sql, click: () => {
              editor.value = sql;
              ask();
            } }, title)))),
      result);
    fill(said, el("span", { class: "faint" }, "One statement that reads. Ctrl+Enter runs it."));
    fill(result, empty("There is no query yet.", "Choose a ready query and change it. The document storage-schema.md describes the tables."));
    return { refresh, unmount() {} };
  },
};
