// Rows as text for other programs.

import type { Cell } from "./answers.ts";

/** Whole numbers that JavaScript would round come as text; they sort as what they are. */
export function exact(cell: Cell): Cell | bigint {
  return typeof cell === "string" && /^-?\d{16,19}$/.test(cell) ? BigInt(cell) : cell;
}

/** RFC 4180: fields with commas, quotes or line ends are quoted; NULL is nothing. */
export function csv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const field = (cell: Cell): string => {
    const text = cell === null ? "" : String(cell);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(field).join(",") + "\r\n").join("");
}

/** Where an error of SQL is: "... (at character 17)" -> 16; null where it does not say. Counted in bytes of UTF-8. */
export function errorOffset(message: string, sql: string): number | null {
  const found = /\(at character (\d+)\)/.exec(message);
  if (!found) return null;
  const before = new TextEncoder().encode(sql).slice(0, Number(found[1]) - 1);
  return new TextDecoder().decode(before).length;
}
