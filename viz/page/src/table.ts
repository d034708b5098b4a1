// A table that is sorted by a click on a column's head.

import { el, fill, type Child } from "./dom.ts";

export interface Column<Row> {
  /** Name for programs: the attribute data-column of the cells. */
  readonly id: string;
  readonly head: string;
  /** A sentence about the column; shown when the pointer is on the head. */
  readonly title?: string;
  /** Numbers are at the right. */
  readonly isNumber?: boolean;
  cell(row: Row): Child;
  /** The value by which rows are sorted. Without it the column cannot be sorted. */
  value?(row: Row): number | bigint | string | null;
}

export interface TableOptions<Row> {
  /** The title for screen readers. */
  readonly caption: string;
  readonly sortedBy?: string;
  readonly isDescending?: boolean;
  /** Called for a row that the user clicks, or selects with Enter. */
  choose?(row: Row): void;
  /** The text that is shown when the pointer is on a row. */
  hint?(row: Row): string;
}

/** Negative, 0 or positive, for ascending order (1) or descending order (-1). null comes last in both. */
export function compare(a: number | bigint | string | null, b: number | bigint | string | null, order: 1 | -1 = 1): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === "string" || typeof b === "string") return order * String(a).localeCompare(String(b));
  return a < b ? -order : a > b ? order : 0;
}

export class Table<Row> {
  readonly element: HTMLTableElement;
  private readonly body = el("tbody");
  private readonly heads = new Map<string, HTMLTableCellElement>();
  private rows: readonly Row[] = [];
  private sortedBy: string | undefined;
  private isDescending: boolean;

  constructor(private readonly columns: readonly Column<Row>[], private readonly options: TableOptions<Row>) {
    this.sortedBy = options.sortedBy;
    this.isDescending = options.isDescending ?? true;
    const line = el("tr");
    for (const column of columns) {
      const head = el("th", { scope: "col", class: column.isNumber ? "number" : null, title: column.title },
        column.value
          ? el("button", { type: "button", click: () => this.sortBy(column) }, column.head)
          : column.head);
      this.heads.set(column.id, head);
      line.append(head);
    }
    this.element = el("table", {},
      el("caption", { class: "unseen" }, options.caption), el("thead", {}, line), this.body);
    this.tellOrder();
  }

  show(rows: readonly Row[]): void {
    this.rows = rows;
    const by = this.columns.find((column) => column.id === this.sortedBy)?.value;
    const order = this.isDescending ? -1 : 1;
    const sorted = by ? [...rows].sort((a, b) => compare(by(a), by(b), order)) : rows;
    fill(this.body, ...sorted.map((row) => this.line(row)));
  }

  private line(row: Row): HTMLElement {
    const { choose } = this.options;
    const line = el("tr", { title: this.options.hint?.(row) },
      ...this.columns.map((column) =>
        el("td", { class: column.isNumber ? "number" : null, "data-column": column.id }, column.cell(row))));
    if (choose) {
      line.tabIndex = 0;
      line.classList.add("chosen-by-click");
      line.addEventListener("click", () => choose(row));
      line.addEventListener("keydown", (event) => {
        if (event.key === "Enter") choose(row);
      });
    }
    return line;
  }

  private sortBy(column: Column<Row>): void {
    this.isDescending = this.sortedBy === column.id ? !this.isDescending : column.isNumber ?? false;
    this.sortedBy = column.id;
    this.tellOrder();
    this.show(this.rows);
  }

  private tellOrder(): void {
    for (const [id, head] of this.heads) {
      head.setAttribute("aria-sort",
        id !== this.sortedBy ? "none" : this.isDescending ? "descending" : "ascending");
    }
  }
}
