/** What the status bar shows while the server starts and reads. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Activity, progressOf } from "../../src/activity";

/** Returns an activity, and the texts that it has shown. */
function recorded(): [Activity, (string | undefined)[]] {
  const shown: (string | undefined)[] = [];
  const activity: Activity = new Activity(() => shown.push(activity.current && progressOf(activity.current)));
  return [activity, shown];
}

test("activity: a start is followed by percentages", () => {
  const [activity, shown] = recorded();
  activity.progress("start", { message: "starting…" });
  activity.end("start");
  activity.progress("a", { title: "Reading a", percentage: 0 });
  activity.progress("a", { percentage: 41.9 });
  assert.deepEqual(activity.current, { title: "Reading a", percentage: 41.9 });
  activity.end("a");
  assert.deepEqual(shown, ["starting…", undefined, "0%", "41%", undefined]);
});

test("activity: the task that began last is shown", () => {
  const [activity, shown] = recorded();
  activity.progress("index", { title: "Reading dump sets", percentage: 5 });
  activity.progress("a", { title: "Reading a", percentage: 10 });
  activity.progress("index", { message: "2 of 9", percentage: 7 });
  activity.end("a");
  activity.end("unknown");
  assert.deepEqual(shown, ["5%", "10%", "10%", "7%"]);
  assert.deepEqual(activity.current, { title: "Reading dump sets", message: "2 of 9", percentage: 7 });
});

test("activity: progress without a percentage shows its message", () => {
  const [activity, shown] = recorded();
  activity.progress("a", { title: "Reading a" });
  activity.progress("a", { message: "2 of 9" });
  activity.progress("a", {});
  assert.deepEqual(shown, ["reading…", "2 of 9", "2 of 9"]);
});

test("activity: nothing remains after the server has stopped", () => {
  const [activity] = recorded();
  activity.progress("a", { title: "Reading a", percentage: 10 });
  activity.clear();
  assert.equal(activity.current, undefined);
});
