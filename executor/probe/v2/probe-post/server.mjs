// The probe behind the plugin under test: what it records is what the plugin produced.

import { probe } from "../v2-core.mjs";

export default {
  id: "ocsweep.probe.post",
  setup: probe("post"),
};
