/**
 * Styles of the view, for its shadow root. Here and not in a style sheet of the document, so that the
 * view brings them along wherever it is mounted. Colours are those of theme.js.
 */

import { FRAME_STYLE } from "./style-frame.js";
import { PANEL_STYLE } from "./style-panels.js";
import { TOOLBAR_STYLE } from "./style-toolbar.js";
import { WORDS_STYLE } from "./style-words.js";

export const STYLE = FRAME_STYLE + TOOLBAR_STYLE + PANEL_STYLE + WORDS_STYLE;
