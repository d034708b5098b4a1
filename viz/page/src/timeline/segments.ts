// Straight lines on the screen: the part within a box, and the distance from a point.

export interface Segment {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

/** The part of a line within [0, width] x [0, height], or null (Liang and Barsky, 1984). */
export function clip(line: Segment, width: number, height: number): Segment | null {
  const across = line.x2 - line.x1;
  const down = line.y2 - line.y1;
  let from = 0;
  let to = 1;
  const edges: readonly (readonly [number, number])[] = [
    [-across, line.x1], [across, width - line.x1], [-down, line.y1], [down, height - line.y1],
  ];
  for (const [slope, room] of edges) {
    if (slope === 0) {
      if (room < 0) return null;
      continue;
    }
    const at = room / slope;
    if (slope < 0) from = Math.max(from, at);
    else to = Math.min(to, at);
    if (from > to) return null;
  }
  return {
    x1: line.x1 + from * across,
    y1: line.y1 + from * down,
    x2: line.x1 + to * across,
    y2: line.y1 + to * down,
  };
}

/** The distance between a point and a line, in pixels. */
export function distance(line: Segment, x: number, y: number): number {
  const across = line.x2 - line.x1;
  const down = line.y2 - line.y1;
  const square = across * across + down * down;
  const along = square === 0 ? 0 : ((x - line.x1) * across + (y - line.y1) * down) / square;
  const at = Math.min(Math.max(along, 0), 1);
  return Math.hypot(x - line.x1 - at * across, y - line.y1 - at * down);
}
