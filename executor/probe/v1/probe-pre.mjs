// The probe in front of the plugin under test: what it records is what the plugin received.
//
// A file of its own because the host keeps one plugin for each file URL.

import { probe } from "./probe-core.mjs";

export default {
  id: "opencode-plugin-ci.probe.pre",
  server: probe("pre"),
};
