// The probe behind the plugin under test: what it records is what the plugin produced.
//
// A file of its own because the host keeps one plugin for each file URL.

import { probe } from "./probe-core.mjs";

export default {
  id: "opencode-plugin-ci.probe.post",
  server: probe("post"),
};
