// Elements in one expression. Text is always text: nothing here takes HTML.

export type Child = Node | string | number | null | undefined | false;
type Handler = (event: never) => void;
export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined | Handler>>;

const kSvg = "http://www.w3.org/2000/svg";

function give(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name, value as EventListener);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/** el("button", {class: "big", click: () => ...}, "Go"); null, undefined and false are left out. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
    tag: Tag, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  give(element, attributes);
  return fill(element, ...children);
}

/** The same for SVG. */
export function svg<Tag extends keyof SVGElementTagNameMap>(
    tag: Tag, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[Tag] {
  const element = document.createElementNS(kSvg, tag);
  give(element, attributes);
  return fill(element, ...children);
}

/** Replaces what is inside an element. */
export function fill<Parent extends Element>(parent: Parent, ...children: Child[]): Parent {
  const nodes: (Node | string)[] = [];
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    nodes.push(typeof child === "number" ? String(child) : child);
  }
  parent.replaceChildren(...nodes);
  return parent;
}

/** A row of buttons of which one is selected, for a setting with few values. */
export function choice(
    label: string, options: readonly (readonly [id: string, text: string])[], chosen: string,
    choose: (id: string) => void): HTMLElement {
  return el("div", { class: "choice", role: "group", "aria-label": label },
    el("span", { class: "choice-label" }, label),
    ...options.map(([id, text]) =>
      el("button", { type: "button", "aria-pressed": id === chosen ? "true" : "false", "data-id": id,
                     click: () => choose(id) }, text)));
}

/** The text for an empty view: what is missing, and what the user can do. */
export function empty(what: string, todo: string): HTMLElement {
  return el("div", { class: "empty" }, el("p", {}, el("strong", {}, what)), el("p", {}, todo));
}
