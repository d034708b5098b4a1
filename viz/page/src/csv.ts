// Rows as text for other programs.

import type { Cell } from "./answers.ts";

/** A large whole number arrives as text. Returns it as a bigint, so that it is sorted as a number. */
export function exact(cell: Cell): Cell | bigint {
  return typeof cell === "string" && /^-?\d{16,19}$/.test(cell) ? BigInt(cell) : cell;
}

/** CSV as in RFC 4180: fields with commas, quotes or line ends are quoted; NULL is an empty field. */
export function csv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const field = (cell: Cell): string => {
    const text = cell === null ? "" : String(cell);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(field).join(",") + "\r\n").join("");
}

/** Position of an error in `sql`: "... (at character 17)" -> 16; null: not in the message. The message counts bytes. */
export function errorOffset(message: string, sql: string): number | null {
  const found = /\(at character (\d+)\)/.exec(message);
  if (!found) return null;
  const before = new TextEncoder().encode(sql).slice(0, Number(found[1]) - 1);
  return new TextDecoder().decode(before).length;
}
