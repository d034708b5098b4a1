// The views, in the order of their tabs. The first one is home.

import type { View } from "../view.ts";
import { overview } from "./overview.ts";
import { functions } from "./functions.ts";

export const views: readonly View[] = [overview, functions];
