// The views, in the order of their tabs. The page opens with the first one.

import type { View } from "../view.ts";
import { overview } from "./overview.ts";
import { alerts } from "./alerts.ts";
import { functions } from "./functions.ts";
import { hosts } from "./hosts.ts";
import { matrix } from "./matrix.ts";
import { query } from "./query.ts";
import { ranks } from "./ranks.ts";
import { timeline } from "./timeline.ts";
import { tree } from "./tree.ts";

export const views: readonly View[] = [overview, functions, ranks, timeline, matrix, hosts, tree, alerts, query];
