// The probe in front of the plugin under test: what it records is what the plugin received.
//
// Its import comes before the plugin's, so the process is watched from here on.

import { observeHost, probe } from "../v2-core.mjs";

observeHost();

export default {
  id: "ocsweep.probe.pre",
  setup: probe("pre"),
};
