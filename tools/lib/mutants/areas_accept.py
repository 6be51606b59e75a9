"""Mutants of the accepting half: changes, schedules, idempotency, reports and registrations."""

from mutant import Area

accept = Area(
    "accept",
    "^DeliveryTests[.](Accept|Pacing|RoutineChange)|"
    "^IntakeTests[.](Accept|Batch)|"
    "^OrchestratorTests[.]ScheduleTests"
)
GROUP = "Intake/ChangeGroup.swift"
accept.expression("riding-alert-is-not-measured", GROUP, "[change.command.alert, place.ridingAlert].compactMap { $0 } + place.openBarrierAlerts",
                  "[change.command.alert].compactMap { $0 } + place.openBarrierAlerts")
accept.expression("barrier-alerts-are-not-measured", GROUP, "[change.command.alert, place.ridingAlert].compactMap { $0 } + place.openBarrierAlerts",
                  "[change.command.alert, place.ridingAlert].compactMap { $0 }")
accept.expression("settled-schedule-runs", GROUP, "!openSchedules.contains(schedule)", "false")
accept.statement("alert-does-not-ride", GROUP, "ridingAlert = alert\n", "\n")
accept.expression("rule-urgency-is-ignored", GROUP, "urgency ?? rule?.urgency ?? .routine", "urgency ?? .routine")
accept.expression("named-urgency-is-held-back", GROUP, "urgency == nil && !update.hasAlert && !update.mustDeliver\n", "!update.hasAlert && !update.mustDeliver\n")
accept.expression("alert-is-held-back", GROUP, "urgency == nil && !update.hasAlert && !update.mustDeliver\n", "urgency == nil && !update.mustDeliver\n")
accept.expression("past-time-is-a-schedule", "Intake/RequestedChange.swift", "at.stored <= now", "false")
accept.expression("schedule-is-not-settled", GROUP, "!settled.isEmpty", "false", at="if !settled.isEmpty {")
accept.statement("accepted-is-forgotten-within-a-group", GROUP, "place.accepted(change)")
accept.expression("least-ring-is-not-asked", GROUP, "row.completed < known.completed", "row.completed > known.completed")

accept.string("open-barriers-are-not-counted", "DeliveryStore/Accepting/StandingRow.swift", "g.completed_revision < a.revision", "false")
accept.expression("a-locked-activity-holds-up-its-group", "DeliveryStore/Changes/ActivityRows.swift", 'isPatient ? "" : "SKIP LOCKED"', '""')

new_starts = Area(
    "new-starts",
    "^ChannelsTests[.]ChannelPool|"
    "^DeliveryTests[.]ChannelMaking|"
    "^IntakeTests[.](StartGroup|StartRequest|Batch|CountedAnswer)|"
    "^OrchestratorTests[.]OutdatedType"
)
STARTED = "Intake/StartGroup.swift"
NEW_SEGMENTS = "Store/Segments/SegmentRows+Accepting.swift"
new_starts.expression("one-id-is-inserted-twice", STARTED, "names.insert(command.start.name).inserted", "true")
new_starts.expression("one-key-is-used-twice", STARTED, "kept.claim(key)", "true", at="guard kept.claim(key) else")
new_starts.statement("answers-are-not-kept", STARTED, "if let key { kept.keep(draft, for: key, status: status, uncounted: activityKey) }")
new_starts.expression("audience-is-not-counted", STARTED, "hasAudience ? activity.key : nil", "nil")
new_starts.expression("past-end-is-taken", STARTED, "endsAt.stored <= now", "false")
new_starts.statement("outdated-type-is-believed", STARTED, "try proposal.type.check(types)")
new_starts.statement("any-start-is-a-replay", STARTED, "try stored.judgeReplay(start.request)")
new_starts.expression("waiting-starts-wake-nobody", STARTED, "activities.contains(where: \\.hasStarts)", "false")
new_starts.query("halted-channel-is-handed-over", NEW_SEGMENTS, " AND n.may_be_made", "")
new_starts.query("pooled-channel-gives-work", NEW_SEGMENTS, "u.is_live AND n.is_wanted AS is_due", "u.is_live AS is_due")
new_starts.expression("more-channels-are-leased-than-there-is-room", "Intake/NewActivityRows.swift", "room > 0", "true")
new_starts.expression("large-audience-holds-up-others", "Intake/RequestedStart.swift",
                      "audience.users.count + audience.devices.count + audience.topics.count <= Self.mostMembers", "true")

idempotency = Area(
    "idempotency",
    "^IntakeTests[.](Idempot|Batch|CountedAnswer|GroupedWork)|"
    "^OrchestratorTests[.]ActivityDeletion"
)
KEPT = "Store/Requests/KeptAnswers.swift"
idempotency.expression("other-body-is-answered", KEPT, "kept.bodyHash == key.bodyHash", "true")
idempotency.expression("old-answers-are-given", KEPT, "isKept", "true", at="guard isKept else {")
idempotency.query("answers-are-kept-for-no-time", KEPT, "interval '24 hours'", "interval '0 hours'", at="i.created_at > clock_timestamp() - interval '24 hours'")
idempotency.query("answers-outlive-their-app", KEPT, " AND p.created_at <= i.created_at", "")
idempotency.query("progress-outlives-its-app", "Store/Requests/KeptProgress.swift", "SELECT p.created_at FROM", "SELECT '-infinity'::timestamptz FROM")
idempotency.statement("answers-are-not-kept", KEPT, "kept.keep(answer, for: key)", at="let answer = try await body()\n        kept.keep(answer, for: key)")
idempotency.expression("race-is-an-error", KEPT, 'error.sqlState == "23505"', "false")
idempotency.expression("deletion-race-is-an-error", KEPT, 'error.sqlState == "23503"', "false")
idempotency.expression("group-does-not-see-its-answers", GROUP, "try kept.answer(to: key)", "nil")
idempotency.statement("group-keeps-no-answers", GROUP, "if let key = command.idempotencyKey { kept.keep(given.answer, for: key) }")

idempotency.expression("what-is-locked-is-answered", "Intake/Grouping/GroupedWork.swift", "!isPatient", "false", at="butLocked: !isPatient")
idempotency.expression("what-is-held-waits-for-the-next-pass", "Orchestrator/Retention/ActivityDeletion.swift", "$0.mayGo && !$0.isFree", "false")

groups = Area("groups", "^IntakeTests[.](GroupQueueTests|GroupedWorkTests)")
QUEUE = "Intake/Grouping/GroupQueue.swift"
groups.expression("further-groups-are-small", QUEUE, "max(elementsUnderWay, rules.worthALane)", "rules.worthALane")
groups.expression("further-groups-wait-for-as-many", QUEUE, "2 * rules.worthALane", "Int.max")
groups.expression("what-waits-in-a-lane-holds-up-the-next-group", QUEUE, "underWay == stalledGroups", "underWay == 0")
groups.statement("carried-out-elements-stay-under-way", QUEUE, "elementsUnderWay -= group.elements.count")

schedules = Area("schedules", "^DeliveryTests[.]Pacing|^OrchestratorTests[.]Schedule")
RUNNER = "Orchestrator/Schedules/ScheduleRunner.swift"
RUNNING = "DeliveryStore/Schedules/ScheduleRows+Running.swift"
schedules.query("end-does-not-pass", RUNNING, "s.kind = 'end' AND EXISTS (", "false AND EXISTS (")
schedules.query("end-passes-what-was-not-tried", RUNNING, "w.reason IS NOT NULL", "true")
schedules.query("end-waits-behind-what-waits", RUNNING, "<= (e.due_at, e.kind,", "= (e.due_at, e.kind,")
schedules.query("start-does-not-pass", RUNNING, "s.kind <> 'start'", "true")
schedules.query("leased-schedules-run", RUNNING, "(lease_until IS NULL OR lease_until < now())", "true")
schedules.query("order-is-lost", RUNNING, "(e.due_at, e.kind, e.created_at, e.schedule_id) < (s.due_at, s.kind, s.created_at, s.schedule_id)", "false")
schedules.expression("server-fault-fails-a-schedule", RUNNER, "problem.status < 500", "true")
schedules.expression("busy-fails-a-schedule", RUNNER, "problem.status != 429", "true")
schedules.string("ended-activity-begins", "DeliveryStore/Changes/ActivityRows.swift", " AND a.state = 'scheduled'", "",
                equivalent="who ends an activity cancels its schedules in the same transaction, so none is pending then")
schedules.query("cancelled-start-runs", RUNNING, " AND state = 'pending'", "",
                at="WHERE schedule_id = \\(scheduleID)::uuid AND state = 'pending'\n        RETURNING activity_key\n")
SILENCE = "DeliveryStore/Schedules/SilenceLimit.swift"
schedules.string("silence-begins-at-the-start", SILENCE, "c.accepted_at, a.started_at", "a.started_at")
schedules.string("unchanged-is-silence", SILENCE, "s.heard_at + ", "a.started_at + ")
schedules.query("sign-of-life-is-always-written", RUNNING, "(s.heard_at IS NULL OR ", "(true OR ")
schedules.string("silence-is-always-over", SILENCE, "\\(limit) <= clock_timestamp()", "true")

reports = Area(
    "reports",
    "^DeliveryTests[.](.*Report|NextCard|PendingCard|CardWatcher|Rotation|CatchUp)|"
    "^OrchestratorTests[.](Alignment|Withheld)|"
    "^RegistryTests[.](.*Report|DeviceTests|Reinstall)"
)
ROWS = "Cards/Reports/ReportRows.swift"
reports.string("unreported-card-takes-its-successor-along", ROWS, "s.update_token IS NULL AND s.activitykit_id IS NULL AND EXCLUDED.activitykit_id IS NOT NULL", "false")
reports.string("old-start-ages-a-new-card", "Cards/Reports/ReportedStarts.swift", "> clock_timestamp() - interval", "> clock_timestamp() - 1000 * interval")
reports.string("older-generation-counts", ROWS, "s.generation <= \\(newGeneration(kind))", "true")
reports.string("any-other-card-replaces", ROWS, "s.state IN ('over', 'dead') AND \\(namesOtherCard)", "\\(namesOtherCard)")
reports.expression("report-without-generation-sets-it", ROWS, 'kind.hasGeneration ? "EXCLUDED.generation" : "s.generation"', '"EXCLUDED.generation"')
reports.query("end-of-another-card-ends", ROWS, "AND NOT ", "OR ", at="newGeneration(kind)) AND NOT \\(unescaped: Self.namesOtherCard)")
reports.query("known-state-is-not-confirmed", ROWS, "CASE WHEN is_news OR is_other THEN EXCLUDED.confirmed_revision ELSE s.confirmed_revision END",
              "EXCLUDED.confirmed_revision")
reports.query("expired-card-is-served", ROWS, "CASE WHEN is_over THEN 'over' WHEN is_held THEN 'withheld'", "CASE WHEN is_held THEN 'withheld'")
reports.query("pending-card-is-served", ROWS, "AND a.state <> 'ended'\n", "AND false\n")
reports.query("end-is-kept-from-a-pending-card", ROWS, "AND a.state <> 'ended'\n", "\n")
reports.string("begun-card-is-taken-for-the-same", ROWS, "((s.pending_since IS NULL) = (EXCLUDED.pending_since IS NULL))", "true")
reports.expression("pending-card-is-not-announced", "Intake/Reports/ReportGroup.swift", "!pending.isEmpty", "false")
reports.query("leaving-is-forgotten", ROWS, "leaving = s.leaving AND (s.state = 'waiting_for_token'\n", "leaving = false AND (s.state = 'waiting_for_token'\n")
DEVICES = "Registry/Devices/RegistrationGroup.swift"
reports.query("older-start-token-replaces", DEVICES, "report.generation >= known.generation", "true")
reports.query("same-generation-is-stale", DEVICES, "report.generation >= known.generation", "report.generation > known.generation")
reports.query("dead-start-token-stays-dead", DEVICES, ", state = 'live', registered_at = now()", ", registered_at = now()")
reports.expression("move-is-not-seen", DEVICES, "!hasSameEnvironment", "false", at="movedEnvironment: !hasSameEnvironment")
reports.query("budget-class-stays", DEVICES, "d.frequent_pushes_enabled <> coalesce(r.frequent, d.frequent_pushes_enabled)", "false")
reports.expression("stale-installation-is-taken", DEVICES, "isStale", "false", at="if isStale {")
reports.expression("new-installation-counts-on", DEVICES, "row[\"is_new_installation\"]", "false", at="changedInstallation: try row[\"is_new_installation\"]")
reports.expression("new-app-version-is-not-seen", DEVICES, "row[\"changed_app\"]", "false", at="changedApp: try row[\"changed_app\"]")

topics = Area("topics", "^DeliveryTests[.]Topic|^RegistryTests[.]Topic")
STARTS = "Cards/Reports/ReportedStarts.swift"
LEAVING = "Cards/LeavingCards.swift"
topics.query("card-of-a-lost-answer-stays", STARTS, "WHEN NOT r.was_sent", "WHEN true")
topics.query("card-of-the-app-ends", STARTS, " OR (r.was_cancelled AND r.is_own)", "")
topics.query("late-end-keeps-who-is-back", STARTS, "SET state = CASE WHEN r.is_forgotten", "SET state = CASE WHEN false")
topics.query("late-end-leaves-a-row", LEAVING, "due_at = NULL, reason = NULL, revision = NULL", "due_at = NULL, reason = NULL")
topics.query("repeat-forgets-its-revision", "Cards/Starts/StartRows+Claims.swift", "WHEN r.attempts <= s.attempts THEN s.revision ", "")
topics.query("end-of-an-app-started-card-keeps-who-is-back", STARTS, "coalesce(c.leaving AND c.state = 'due', true)", "coalesce(c.leaving AND c.state = 'due', r.was_sent)")
topics.query("backend-ends-until-the-next-follow", STARTS, "WHEN c.state IS NOT NULL THEN c.leaving AND r.was_cancelled", "WHEN c.state IS NOT NULL THEN c.leaving")
topics.query("end-forgets-a-new-token", "Cards/Destination.swift", "AND s.update_token = d.token AND s.leaving", "AND s.leaving")
topics.query("card-of-a-follower-ends", STARTS, "AND NOT ", "OR NOT ", at="AND NOT \\(unescaped: AudienceCoverage.condition)")
topics.query("reported-end-keeps-who-is-back", STARTS, "WHEN r.has_ended THEN r.was_cancelled", "WHEN r.has_ended THEN false")
topics.query("report-settles-who-left", STARTS, "UPDATE starts AS s SET state = 'cancelled', revision", "UPDATE starts AS s SET state = 'settled', revision")
topics.query("report-takes-an-end-back", ROWS, "OR ((EXCLUDED.leaving OR ", "OR ((false OR ")
topics.query("answer-settles-who-left", "Cards/Starts/StartRows+Answers.swift", "AND c.leaving AND c.state = 'waiting_for_token'", "AND false")
FOLLOWS = "Registry/Topics/TopicRows.swift"
topics.query("change-is-not-seen", FOLLOWS, "f.topics <> r.topics", "f.topics = r.topics")
topics.query("card-ends-by-the-change-of-another", FOLLOWS, "m.topic = ANY(c.removed)", "true")
topics.query("who-is-left-out-keeps-the-card", FOLLOWS, " OR m.except_topics && c.added", "")
topics.expression("every-change-is-of-the-first-device", FOLLOWS, "Int64(place + 1)", "Int64(1)")
topics.expression("new-device-follows-nothing", DEVICES, "effects[place] == nil", "false", at="else if effects[place] == nil, let topics")
topics.expression("kept-topics-are-removed", "Registry/Topics/TopicChange.swift", "!patterns.contains { $0.matches(topic) }", "false")
ENROLMENT = "DeliveryStore/Starts/DeliveryStore+Enrolment.swift"
topics.string("many-named-topics-are-cut", ENROLMENT, "CASE WHEN count(*) < ", "CASE WHEN count(*) <= ")
topics.string("few-named-topics-are-not-looked-up", ENROLMENT, "FROM unnest(n.topics) AS t(topic)", "FROM unnest(NULL::text[]) AS t(topic)")
topics.string("many-topics-of-users-are-not-looked-up", ENROLMENT, "WHERE n.topics IS NULL AND f.bundle_id = d.bundle_id", "WHERE false AND f.bundle_id = d.bundle_id")
COUNTER = "Registry/Topics/TopicCounter.swift"
topics.expression("count-goes-on-with-the-next-topic", COUNTER, "size == pageSize", "false", at="if size == pageSize, place")

AREAS = [accept, new_starts, idempotency, groups, schedules, reports, topics]
