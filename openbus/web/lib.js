// The libraries as the rest of the page uses them.

import { h, render, Fragment } from "./vendor/preact.js";
import { useEffect, useLayoutEffect, useRef, useState, useMemo } from "./vendor/hooks.js";
import { signal, computed, effect, batch, untracked } from "./vendor/signals-core.js";
import { useSignal, useComputed } from "./vendor/signals.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export {
  render, Fragment, useEffect, useLayoutEffect, useRef, useState, useMemo,
  signal, computed, effect, batch, untracked, useSignal, useComputed,
};
