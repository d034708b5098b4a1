// Events of a pointer on a canvas: hovering, clicks, boxes, the wheel.

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box {
  readonly from: Point;
  readonly to: Point;
}

export interface Pointing {
  /** The pointer is on the element, and no button is held. */
  rests(at: Point, event: MouseEvent): void;
  left(): void;
  clicked(at: Point): void;
  /** The user is drawing a box. Called for each move of the pointer. */
  draws(box: Box): void;
  /** The box is complete; null: the user has pressed Escape. */
  drew(box: Box | null): void;
  /** `turns` is 1 to zoom out, -1 to zoom in. */
  wheel?(at: Point, turns: number): void;
}

/** A shorter drag is a click. */
const kClickPixels = 4;

/** Listens for as long as `element` exists. Points are in the element's own pixels. */
export function point(element: HTMLElement, pointing: Pointing): void {
  let from: Point | null = null;
  let isBox = false;

  const at = (event: MouseEvent): Point => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const giveUp = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    end();
    pointing.drew(null);
  };
  const end = (): void => {
    from = null;
    isBox = false;
    removeEventListener("keydown", giveUp, true);
  };

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = at(event);
    element.setPointerCapture(event.pointerId);
    addEventListener("keydown", giveUp, true);
  });
  element.addEventListener("pointermove", (event) => {
    const to = at(event);
    if (from === null) {
      pointing.rests(to, event);
      return;
    }
    isBox ||= Math.abs(to.x - from.x) > kClickPixels || Math.abs(to.y - from.y) > kClickPixels;
    if (isBox) pointing.draws({ from, to });
  });
  element.addEventListener("pointerup", (event) => {
    if (from === null) return;
    const box = { from, to: at(event) };
    const wasBox = isBox;
    end();
    if (wasBox) {
      pointing.drew(box);
    } else {
      pointing.clicked(box.to);
    }
  });
  element.addEventListener("pointerleave", () => pointing.left());
  element.addEventListener("wheel", (event) => {
    if (!pointing.wheel || event.deltaY === 0) return;
    event.preventDefault();
    pointing.wheel(at(event), Math.sign(event.deltaY));
  }, { passive: false });
}
