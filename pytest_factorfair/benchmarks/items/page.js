"use strict";
// The planes of difference and contextual awareness.
(() => {
  page.charts("awareness-charts", page.values.awareness, "difference and contextual awareness");
})();
