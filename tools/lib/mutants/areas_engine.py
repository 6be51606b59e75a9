"""Mutants of the sending half: ownership, leases, rings, merges, barriers, starts, budget, channels, answers."""

from mutant import Area


ownership = Area("ownership", "^OwnershipTests[.](Ownership|PartitionKeeper)")
OWNERSHIP = "Ownership/Ownership.swift"
ownership.expression("buries-at-once", OWNERSHIP, "now - (sightings[other]?.since ?? now) >= lease", "true")
ownership.expression("sends-after-its-lease", OWNERSHIP, "now < mayBeginUntil", "true")
ownership.expression("keeps-what-another-owns", OWNERSHIP, "row.epoch != held[row.partition]", "false",
                     equivalent="a claim changes the owner, too, and no daemon's number is used twice")
ownership.query("claims-over-another-claim", "Ownership/OwnershipStore.swift", "p.epoch = EXCLUDED.epoch - 1", "true")

leases = Area(
    "leases",
    "^DeliveryTests[.](Lease|SmallRing|PlainBroadcast|WorkerSlot|AcceptedWork|StampLock|GroupSize)"
)
STORE = "DeliveryStore/Segments/SegmentStore.swift"
LEASING = "Store/Segments/SegmentRows+Claims.swift"
leases.string("lapsed-lease-is-kept", LEASING, "\\(s).lease_until < now()", "false")
leases.string("lease-of-a-later-clock-is-kept", LEASING, "OR \\(s).lease_until > clock_timestamp() + interval '\\(most) milliseconds'", "")
leases.query("early-segments-are-claimed", LEASING, "segment <= 0 AND due_at <= now()", "segment <= 0")
leases.expression("lapsed-lease-is-renewed", STORE, 'SegmentRows.isLeased("s")', '"true"')
leases.expression("lapsed-lease-sends", STORE, 'SegmentRows.isRunning(lease, as: "s")', 'SegmentRows.isHeld(lease, as: "s")')
leases.query("newer-change-does-not-stop", STORE, "AND a.state = 'live'", "", at="({} AND a.state = 'live')".replace("{}", "\\(isFirst)"))
leases.expression("stores-without-a-lease", STORE, "results[statements.count].affectedRows > 0", "true", at="guard results[statements.count].affectedRows > 0")
leases.expression("exceptions-without-a-lease", STORE, "results.last?.isEmpty == false", "true")
leases.query("announced-work-is-overlooked", "Store/Segments/SegmentRows+Announcements.swift", "wakes = s.wakes + 1", "wakes = s.wakes")
leases.query("small-ring-is-not-on-record", "DeliveryStore/Changes/ChangeStore.swift", "is_sent = true", "is_sent = c.is_sent", at="UPDATE changes AS c SET is_sent = true")
BROADCAST = "DeliveryStore/SmallSegments/PlainUpdate+Channels.swift"
leases.string("plain-broadcast-jumps-over-alerts", "DeliveryStore/SmallSegments/RoutineUpdate.swift", "AND NOT ", "AND false AND ",
              at="AND NOT \\(isStateAlone(\"n\"))")
leases.query("plain-broadcast-merges-over-a-ring", "DeliveryStore/Changes/ChangeStore.swift", "min(coalesce(o.lap_revision, o.completed_revision + 1))", "u.newer")
leases.expression("plain-broadcast-merges-nothing", BROADCAST, "broadcasts.jumps", "[]")
UPDATES = "Delivery/Workers/SegmentGroup+Updates.swift"
leases.expression("refused-for-good-is-repeated", UPDATES, "consequence == .refused", "false")
leases.string("plain-broadcast-forgets-late-starts", "DeliveryStore/SmallSegments/BroadcastAddress.swift",
    " AND (n.starts_until IS NULL OR n.starts_until > clock_timestamp())", "")
COMPLETION = "Store/Segments/SegmentRows+Completion.swift"
leases.query("broadcast-rests-over-new-work", COMPLETION, "s.wakes <> u.wakes", "false", at="s.wakes <> u.wakes THEN clock_timestamp()\n")
leases.query("broadcast-without-a-lease", COMPLETION, "s.lease_owner = u.owner::uuid", "true", at="\n          AND s.lease_owner = u.owner::uuid")
ENDINGS = "DeliveryStore/Segments/LeaseEndings.swift"
leases.expression("rests-over-new-work", ENDINGS, "wakesSeen", "nil", at='failures: "0",\n            ifStill: wakesSeen')
leases.expression("pauses-over-new-work", ENDINGS, "wakesSeen", "nil", at="ending(lease, dueIn: delay, ifStill: wakesSeen)")
leases.string("failures-are-not-counted", ENDINGS, "least(s.failures + 1, 1000)", "s.failures")
ACCEPTED = "Store/Segments/SegmentRows+Accepting.swift"
leases.statement("partly-refused-is-not-on-record", UPDATES,
    "changes.append(ChangeStore.markSent(revision, of: update.lease.activityKey))")
leases.expression("accept-trusts-an-old-look", "Intake/AcceptedWork.swift", "wakes == rest.wakes + 1", "true")
leases.expression("accept-forgets-due-cards", "DeliveryStore/SmallSegments/RestingSegment.swift", "DueCards.noneOnRings", '"true"')
leases.expression("accept-forgets-starts", "DeliveryStore/SmallSegments/RestingSegment.swift", "ActivitySnapshot.hasNoStartToSend", '"true"')
leases.string("a-leased-ring-is-taken", ACCEPTED, "s.lease_owner IS NULL AND ", "")
leases.string("a-ring-that-filled-is-passed", ACCEPTED, "s.wakes IS NOT DISTINCT FROM w.empty_since", "w.empty_since IS NOT NULL")
leases.query("accepted-work-is-not-due", ACCEPTED, "least(s.due_at, w.now)", "s.due_at")
leases.query("accepted-work-is-overlooked", ACCEPTED, "s.wakes + 1", "s.wakes")

# With an old stamp a walk over a ring never ends, so that is tried on cards of their own.
ageing = Area("stamping", "^DeliveryTests[.]CatchUp")
CHANGES = "DeliveryStore/Changes/ChangeStore.swift"
ageing.expression("old-stamp-leaves", CHANGES, "!Stamping.needsFreshStamp(age: age)", "true")

stamping = Area(
    "stamping",
    "^ChannelsTests[.]ChannelTests|"
    "^DeliveryTests[.](StampLock|Lease|Division|Merge|Ring|CatchUp|ReportedAlert)|"
    "^OrchestratorTests[.]ScheduleTests"
)
stamping.expression("stamp-out-of-order-leaves", CHANGES, "isInOrder", "true", at="needsFreshStamp(age: age), isInOrder")
stamping.string("equal-stamps-are-in-order", CHANGES, "o.timestamp >= c.timestamp", "o.timestamp > c.timestamp",
                equivalent="every stamp is above the last one of its activity, so no two of them are equal")
stamping.string("fresh-stamps-are-forgotten", CHANGES, "c.timestamp >= a.fresh_stamp", "true")
stamping.expression("stamps-without-a-lease", CHANGES, "SegmentRows.isRunning(lease)", "SegmentRows.isHeld(lease)")
stamping.expression("end-waits-for-the-clock", CHANGES, "stored.kind != .end", "true", at="wait > 0, stored.kind != .end")
stamping.expression("stamps-ahead-of-the-clock", CHANGES, "wait > 0", "false", at="if wait > 0, stored.kind")
stamping.statement("stamps-twice", CHANGES, "if !anew, let change = stored.changeUnderItsStamp { return change }",
                   at="if locked[2].isEmpty { throw LeaseLost() }\n        if !anew, let change = stored.changeUnderItsStamp { return change }")
stamping.string("scheduled-start-goes-back", "DeliveryStore/Changes/ActivityRows.swift",
               "greatest(a.stamp + 1, floor(extract(epoch FROM clock_timestamp()))::int8)", "floor(extract(epoch FROM clock_timestamp()))::int8",
               equivalent="nothing is stamped before an activity begins, so the clock is above its stamp of 0")
TURN = "Delivery/Broadcasts/ChannelTurn.swift"
CATCH_UP = "Delivery/Workers/CatchUpTurn.swift"
stamping.expression("repeat-under-the-alerts-stamp", TURN, "change.timestamp == channel.alertStamp", "false")
stamping.expression("assured-under-the-alerts-stamp", CATCH_UP, "change.timestamp == progress.alertStamp", "false")

walks = Area("walks", "^DeliveryTests[.]Carousel")
CAROUSEL = "Store/Segments/Carousel.swift"
walks.expression("turns-to-the-same", CAROUSEL, "revision > begun", "revision >= begun")
walks.statement("unsent-is-forgotten", CAROUSEL, "unsentAfter = sent\n", "\n")
walks.expression("lap-from-the-beginning", CAROUSEL, "cursor", "0", at="lap = Lap(revision: revision, origin: cursor)")
walks.expression("alert-from-the-beginning", CAROUSEL, "cursor", "0", at="alert = Lap(revision: newAlert, origin: cursor)")
walks.expression("goes-past-the-bound", CAROUSEL, "bounds.min()", "bounds.max()")
walks.expression("lap-ends-where-it-begins", CAROUSEL, "cursor < lap.origin", "cursor <= lap.origin")
walks.expression("bound-that-was-met-is-not", CAROUSEL, "reachedBound || (bound != nil && key == bound)", "reachedBound")
walks.expression("any-bound-ends-a-lap", CAROUSEL, "lap.origin == bound", "true")
walks.expression("first-pass-ends-a-lap", CAROUSEL, "lap.origin == 0", "true")
walks.expression("served-is-passed", CAROUSEL, "min(revision, upcoming - 1)", "min(revision, upcoming)")
walks.expression("served-settles-all", CAROUSEL, "settled < begun ? settled : nil", "nil")

rings = Area("rings", "^DeliveryTests[.](Ring|Merge|Division|ReportedAlert)")
rings.expression("due-cards-ride", "Cards/Rings/RingSlice.swift", 'CardStanding.rides("s")',
                 """"(s.mode = 'token' AND s.state IN ('riding', 'due'))\"""")
rings.expression("old-slices-leave", "Delivery/Rings/RingAhead.swift", "now - readAt > Self.maximumAge", "false")
rings.expression("walks-on-over-the-end", "Delivery/Rings/RingWalk.swift", "look.mayGoOn", "true")
WINDOW = "Delivery/Rings/RingWindow.swift"
rings.expression("stores-when-nobody-was-reached", WINDOW, "part.exceptions.areAll", "false")
rings.statement("stores-over-a-gap", WINDOW, "break", "continue", at="guard let some = slice.exceptions else { break }")
rings.string("passed-is-all-behind-the-origin", "Store/Segments/SegmentRows.swift", "\\(deviceKey) > \\(origin) AND \\(deviceKey) <= g.cursor", "\\(deviceKey) > \\(origin)")

merges = Area("merges", "^DeliveryTests[.](Merge|Ring|CatchUp|Pacing)|^RecordTests[.]Timeline")
UNSENT = '"(c.merged_into IS NULL AND NOT \\(SentChange.isSent("c")))"'
merges.expression("merged-may-be-sent", CHANGES, UNSENT, '"c.merged_into IS NULL"')
merges.expression("merged-again", CHANGES, UNSENT, '"NOT \\(SentChange.isSent("c"))"')
merges.query("other-rings-are-passed-over", CHANGES, "others.next)", "9223372036854775807)", at="AND s.revision < least(\\(upcoming), others.next)")
merges.query("passed-counts-as-sent", CHANGES, "SET sent_with_ring = false", "SET sent_with_ring = true")
merges.expression("lost-lease-leaves-no-record", "DeliveryStore/SmallSegments/PlainUpdateStore.swift", "ended.count < rings.count", "false")
merges.query("sent-stays-merged", CHANGES, ", merged_into = NULL", "", at="UPDATE changes SET is_sent = true, merged_into = NULL")
merges.query("merged-into-itself", CHANGES, "AND 1 PRECEDING", "AND CURRENT ROW",
             equivalent="what is merged is unsent and older than what it is merged into, so it never finds itself")
merges.expression("hold-is-ignored", CHANGES, "activity.hold == nil", "true", at="!isHeld, activity.hold == nil")
merges.expression("barrier-is-left", CHANGES, "activity.isBarrierBegun && stored.lap != nil && activity.state != .ended", "false")
merges.expression("end-waits-for-a-barrier", CHANGES, "activity.isBarrierBegun && stored.lap != nil && activity.state != .ended",
                  "activity.isBarrierBegun && stored.lap != nil")
merges.statement("caught-up-is-not-told-to-the-walk", CATCH_UP, "carousel.served(revision)")
merges.statement("reached-is-not-told-to-the-walk", "Delivery/Rings/RingProgress.swift", "if hasArrived { state.carousel.reached() }")

barriers = Area("barrier-sending", "^DeliveryTests[.](Boarding|CatchUp|Ring|Merge|Accept)|^IntakeTests[.]Accept")
SNAPSHOT = "DeliveryStore/Activities/ActivitySnapshot.swift"
barriers.expression("walk-passes-barriers", SNAPSHOT, "state == .ended ? newest : barrier ?? newest", "newest")
barriers.expression("end-behind-barriers", SNAPSHOT, "state == .ended ? newest : barrier ?? newest", "barrier ?? newest")
barriers.query("every-change-is-a-barrier", SNAPSHOT, "c.must_deliver AND c.revision > begun.revision", "c.revision > begun.revision")
barriers.expression("late-card-gets-the-last-barrier", CATCH_UP, "barriers.first { $0 > has }", "barriers.last { $0 > has }")
barriers.string("every-open-change-is-a-barrier", "DeliveryStore/Accepting/StandingRow.swift", "b.must_deliver", "true", at="b.must_deliver AND b.revision")
barriers.string("delivered-barriers-are-open", "DeliveryStore/Accepting/StandingRow.swift", " AND b.revision > g.completed_revision", "")
barriers.expression("rule-makes-no-barrier", "Intake/ChangeGroup.swift",
                    "request.mustDeliver || (urgency == nil && rule?.mustDeliver == true)", "request.mustDeliver")
DESTINATION = "Cards/Destination.swift"
barriers.query("barrier-ends-catching-up", DESTINATION, "SET due_at = clock_timestamp(), failures = 0", "SET due_at = NULL, state = 'riding', failures = 0")

endings = Area(
    "endings",
    "^DeliveryTests[.](Ring|CatchUp|Broadcast|StartTests|StartTurn)|"
    "^IntakeTests[.]Audience|"
    "^OrchestratorTests[.]Withheld"
)
endings.expression("broadcast-after-the-end", TURN, "try await room.segments.mayGoOn(lease, with: activity, isFirst: true)", "true",
                   at="try await room.segments.mayGoOn(lease, with: activity, isFirst: true) else { return nil }")
endings.expression("late-push-after-the-end", "Delivery/Sending/TokenPushes.swift",
                   "try await room.segments.mayGoOn(lease, with: activity, isFirst: start == 0)", "true")
endings.query("start-after-the-end", "DeliveryStore/Changes/ChangeStore.swift", " AND a.state = 'live'", "")
endings.expression("content-for-those-who-cannot-decode", "Delivery/Sending/TokenPushes.swift", "!push.destination.canDecode", "false")

starts = Area(
    "start-sending",
    "^DeliveryTests[.](Start|Reported|Fallback|Enrolment|Rotation|Boarding)|"
    "^IntakeTests[.]Start"
)
DUE_START = "DeliveryStore/Starts/DueStart.swift"
starts.string("waiting-card-is-a-report", DUE_START, "card.state <> 'waiting_for_token' AND ", "")
starts.query("devices-are-not-locked", DUE_START, "FOR NO KEY UPDATE OF s, d SKIP LOCKED", "FOR NO KEY UPDATE OF s SKIP LOCKED")
starts.query("renewal-stays", "Cards/Starts/StartRows+Claims.swift", "renewed = false", "renewed = s.renewed")
starts.query("old-stamp-starts", "DeliveryStore/Changes/ChangeStore.swift", "clock_timestamp() - c.stamped_at <= ", "clock_timestamp() - clock_timestamp() <= ")
STARTS = "Delivery/Starts/StartTurn.swift"
starts.expression("repeats-what-is-on-its-way", STARTS, "course.open.values.min()", "nil")
starts.expression("batches-wait-for-no-answer", STARTS, "course.open.count < Self.batchesAtOnce", "true")
starts.expression("older-content-goes-on", STARTS, "number == 0", "true", at="isFirst: number == 0")
starts.expression("turn-of-starts-has-no-end", STARTS, "room.settings.uptime() >= end", "false")
RESULTS = "Delivery/Starts/StartResults.swift"
ANSWERS = "Cards/Starts/StartRows+Answers.swift"
starts.string("answer-of-an-older-claim", ANSWERS, "s.claimed_at = r.claimed_at", "true")
starts.string("answer-unsettles-a-report", ANSWERS, " AND s.state = 'claimed'", "")
starts.statement("unknown-is-sent-again-at-once", RESULTS, "return .unknown(outcome.words)", "return .notSent(outcome.words)")
START_TOKENS = "Registry/Devices/StartTokenRows+Answers.swift"
starts.string("older-start-token-dies", START_TOKENS, "t.registered_at", "'-infinity'::timestamptz")
starts.query("other-start-token-dies", START_TOKENS, " AND t.token = r.token", "")
starts.query("dead-start-token-is-only-rejected", START_TOKENS, " AND t.state <> 'dead'", "")
starts.query("who-is-owed-nothing-is-in-a-hurry", "Cards/Reports/StoredCard.swift", " AND (s.leaving OR least(s.known_revision, s.confirmed_revision) < a.revision)", "")
starts.string("unsent-start-tells-its-revision", "Cards/Reports/ReportedStarts.swift", "(s.attempts > 0 AND s.claimed_at", "(true OR s.claimed_at")
starts.query("reported-start-stays", "Cards/Reports/ReportedStarts.swift", "ELSE 'settled' END", "ELSE s.state END")
starts.query("claimed-is-cancelled", "Cards/Starts/StartRows+Abandonment.swift", "s.state IN ('pending', 'withheld')", "s.state IN ('pending', 'withheld', 'claimed')")
ENROLMENT = "DeliveryStore/Starts/DeliveryStore+Enrolment.swift"
ENROLLED = "Cards/Starts/StartRows+Enrolment.swift"
starts.string("given-up-is-started-a-third-time", ENROLLED, "AND \\(start).attempts < 2", "")
starts.string("other-environment-is-enrolled", ENROLMENT, "d.environment = a.environment AND \\(isReachable)", "\\(isReachable)")
starts.string("enrolling-is-not-told", "Record/Activities/Record+Activities.swift", "a.state = 'live' AND a.enrolment_due", "false")
starts.statement("enrolling-is-lost", "Record/Activities/ActivityParts.swift", "resource.starts.enrolling = enrolling")
starts.expression("verdict-forgets-phones-to-add", "Record/Timeline/ActivityVerdict.swift", "starts.enrolling", "false", at="(starts.enrolling ?")
starts.query("registration-cuts-a-claim-short", ENROLLED, "CASE WHEN starts.state IN ('claimed', 'unknown') THEN starts.state ELSE 'pending' END",
             "'pending'")

ledger = Area(
    "ledger",
    "^ChannelsTests[.]ChannelTests|"
    "^DeliveryTests[.](Budget|RoutineChange|Ring|Rotation)|"
    "^IntakeTests[.]DryRun"
)
LEDGER = "DeliveryStore/Changes/BudgetLedger.swift"
ledger.expression("units-never-come-back", LEDGER, "priority == .ten && age >= Double(policy.budget.windowSeconds)", "false")
ledger.expression("five-holds-for-alerts", LEDGER, "priority == .ten || !hasAlert || isForAlert", "true")
ledger.expression("riding-alert-spends-twice", LEDGER, "alert != change.revision", "true", at="guard let alert, alert != change.revision")
ledger.statement("riding-alert-is-quiet", LEDGER, "if priority == .ten { return .ten }")
ledger.query("fives-spend", LEDGER, "priority = 10 AND ", "", at="priority = 10 AND revision <>")
ledger.expression("frequent-is-ordinary", LEDGER, "budgetClass == .frequent ? budget.frequent : budget.ordinary", "budget.ordinary")
ledger.expression("nothing-is-spent", LEDGER, "max(total - Int(spent), 0)", "total")
ledger.expression("class-is-swapped", LEDGER, "frequent ? .frequent : .ordinary", "frequent ? .ordinary : .frequent")
ledger.query("alert-stays-five", LEDGER, "b.priority < EXCLUDED.priority OR ", "false OR ")
ledger.expression("late-spends-again", LEDGER, "change.priorities[push.budgetClass]?.isSpent(under: activity.policy) == true", "false")
ledger.expression("repeat-spends", TURN, "PriorityRule.repeated(change.kind)", ".ten")
ledger.expression("assuring-spends", CATCH_UP, "PriorityRule.repeated(change.kind)", ".ten")

channels = Area("channels", "^ChannelsTests[.](.*Channel|Hybrid)|^DeliveryTests[.](.*Channel|Broadcast)")
ROWS = "Channels/ChannelRows.swift"
channels.query("used-channel-is-taken", ROWS, " AND activity_key IS NULL", "", at="AND state = 'ready' AND activity_key IS NULL AND delete_at IS NULL")
channels.expression("end-keeps-the-channel", TURN, "change.kind == .end", "false", at="if change.kind == .end {")
channels.expression("young-channel-is-gone", "Cards/Answers/Consequence.swift", "isSettled", "true", at="isSettled ? .lost")
channels.expression("repeats-without-pause", TURN, "wait > .zero ? wait : nil", "nil")
channels.expression("second-channel-is-forgotten", "Delivery/Workers/SegmentGroup+Channels.swift",
                    "!kept.stored.contains($0.wanted.id)", "false")
MAKING = "DeliveryStore/SmallSegments/ChannelToMake.swift"
channels.query("made-channel-wakes-no-start", COMPLETION, "OR NOT (", "OR (")
channels.query("made-channel-forgets-changes", COMPLETION, "s.completed_revision < (", "s.completed_revision > (")
channels.query("channel-is-made-after-the-end", MAKING, "a.state = 'live' AND ", "")
channels.query("late-listener-is-owed-nothing", "Cards/Reports/ReportRows.swift",
               "CASE WHEN known.revision < a.revision THEN 'due'::subscription_state ELSE 'riding' END", "'riding'::subscription_state")
COMPARISON = "Channels/ChannelComparison.swift"
channels.expression("young-channel-is-lost", COMPARISON, "record.since <= settled", "true", at="case (.ready, false) where record.since <= settled")
channels.expression("young-deletion-is-repeated", COMPARISON, "record.since <= settled", "true", at="case (.deleted, true) where record.since <= settled")
channels.expression("done-channel-is-lost", COMPARISON, "record.isDone", "false", at="if record.isDone")
channels.expression("unknown-is-deleted-at-once", COMPARISON, "deleteAt <= listedAt", "true")
channels.expression("unknown-is-deleted-anywhere", COMPARISON, "isExclusive ? firstSeen.adding(seconds: Self.unknownGrace) : nil",
                    "firstSeen.adding(seconds: Self.unknownGrace)")
channels.expression("sightings-are-forgotten", COMPARISON, "sightings[id] ?? listedAt", "listedAt", at="min(sightings[id] ?? listedAt")

failures = Area(
    "failures",
    "^DeliveryTests[.](Exception|CatchUp|CardWatcher|Leaving|PushQueue|StartTests)|"
    "^RegistryTests[.]TokenOwner"
)
EXCEPTIONS = "Cards/Answers/PushExceptions.swift"
failures.expression("one-refusal-is-all", EXCEPTIONS, "accepted == 0 && refused.count > 1", "accepted == 0 && refused.count > 0")
failures.expression("dead-tokens-are-a-common-failure", EXCEPTIONS, "isAboutTokens ? nil : refused.first?.outcome.words", "refused.first?.outcome.words")
failures.statement("rejected-dies", EXCEPTIONS, "rejected.append((recipient, outcome))", "dead.append((recipient, outcome, nil, delay))")
failures.string("older-token-lives", EXCEPTIONS, "\\(reportedAt) > 'epoch'", "\\(reportedAt) < 'epoch'")
failures.query("new-token-dies", EXCEPTIONS, " AND s.update_token = d.token", "",
               at="AS d(device_key, token, reason, dead_at, delay, heard)\n            WHERE s.activity_key = \\(activityKey) AND s.device_key = d.device_key AND s.update_token = d.token")
failures.query("new-token-is-rejected", EXCEPTIONS, " AND s.update_token = d.token", "",
               at="AS d(device_key, token, reason, heard)\n        WHERE s.activity_key = \\(activityKey) AND s.device_key = d.device_key AND s.update_token = d.token")
DEVICE_TOKENS = "Registry/Devices/DeviceTokens.swift"
failures.string("younger-device-token-dies", DEVICE_TOKENS, "coalesce(d.token_registered_at, d.updated_at)", "'-infinity'::timestamptz")
failures.string("any-report-renews-the-device-token", DEVICE_TOKENS, "coalesce(d.token_registered_at, d.updated_at)", "d.updated_at")
failures.string("device-token-is-contradicted-for-ever", DEVICE_TOKENS, "d.token_contradictions", "-1",
                at='contradictions: "d.token_contradictions"')
failures.query("rejected-device-token-dies", DEVICE_TOKENS, "r.is_dead AND NOT ", "NOT ")
failures.string("rejected-device-token-is-used", "Cards/UsableToken.swift", "d.token_rejected_at IS NULL", "true")
failures.query("waiting-push-to-a-rejected-token-leaves", "DeliveryStore/Pushes/QueuedPush.swift", "WHEN own.is_rejected", "WHEN false")
failures.query("rejection-stops-pushes-to-other-tokens", "DeliveryStore/Pushes/QueuedPush.swift", "d.device_token = t.token AND ", "")
failures.string("suspect-device-token-is-not-waited-for", "Cards/UsableToken.swift", " OR ", " OR NOT ")
failures.query("other-device-token-dies", DEVICE_TOKENS, " AND d.device_token = r.token", "")
failures.query("moved-device-token-dies", DEVICE_TOKENS, "AND d.environment = r.environment::apns_environment", "")
failures.query("caught-up-forgets-a-new-token", DESTINATION, "AND s.update_token = d.token ", "",
               at="AND s.update_token = d.token AND \\(unescaped: isDue) AND NOT s.leaving")
failures.query("leaving-card-rides", DESTINATION, " AND NOT s.leaving", "")
failures.expression("old-alert-makes-a-body-too-large", "Delivery/Sending/OutgoingChange.swift", "limit.excess(body.count) != nil", "false")

continuations = Area("continuations", "^DeliveryTests[.]Continuation")
CONTINUATIONS = "Cards/Continuations.swift"
PROSPECT = "Cards/Continuations/ContinuationProspect.swift"
continuations.query("registration-brings-no-look", CONTINUATIONS, "SET check_at = clock_timestamp()", "SET check_at = s.check_at")
continuations.expression("pauses-do-not-grow", CONTINUATIONS, "max(shortestPause, .microseconds(waited / 2))", "shortestPause")
continuations.string("dead-start-token-is-hoped-for", "Store/Fragments/StartTokenState.swift", "t.state <> 'dead'", "true")
continuations.string("spent-start-is-hoped-for", PROSPECT, "o.state = 'unknown'", "false")
continuations.query("report-of-an-old-card-takes-its-end-back", "Cards/Reports/ReportRows.swift",
                    "OR ((EXCLUDED.leaving OR ", "OR ((EXCLUDED.leaving AND ")
continuations.query("new-card-of-who-left-is-settled", "Cards/Reports/ReportedStarts.swift", "THEN c.leaving AND r.was_sent AND ", "THEN false AND ")
continuations.expression("new-system-brings-no-look", "Intake/Reports/ReportGroup.swift", "!updated.isEmpty", "false")
continuations.expression("reports-pass-a-hand-over", "Delivery/Starts/StartResults.swift", "self.started.contains(where: Self.handsOver)", "false")
continuations.expression("accepted-start-hands-over", "Delivery/Starts/StartResults.swift", 'started.mode == "channel"', "true")
continuations.expression("channel-card-waits-for-its-report", "Delivery/Starts/StartResults.swift", 'started.0.isContinuation && started.mode == "channel"', "false")

halts = Area("halts", "^DeliveryTests[.]SendingHalt")
halts.expression("who-lifts-a-halt-waits-for-all", "DeliveryStore/Halts/SendingHalts+Lifting.swift", "uptime() >= end", "false")
halts.string("start-that-met-a-suspect-is-lost", ENROLLED, "\\(start).state = 'withheld'", "false")
halts.query("probe-tells-no-other-activity", "DeliveryStore/Halts/Revival.swift", "WHERE activity_key IS DISTINCT FROM ", "WHERE false AND activity_key = ")
halts.expression("probe-stops-at-what-cannot-leave", STARTS, "batch.starts.isEmpty && batch.alerts.isEmpty", "false")

doctor = Area("doctor", "^DoctorTests[.](Examination|Judgement)")
APPLE = "Doctor/Examination+Apple.swift"
doctor.expression("silence-blames-the-capability", APPLE, "(error as? Problem)?.code == Problem.Code.apnsRefused", "true")
doctor.expression("refusal-blames-the-network", APPLE, "(error as? Problem)?.code == Problem.Code.apnsRefused", "false")

# What would read all cards of a large activity, and change no answer.
reads = Area("reads", "^DeliveryTests[.]RowWrite|^IntakeTests[.](LongAudience|AudienceTests)")
reads.string("empty-ring-is-sought-to-the-end", "Cards/DueCards.swift", " AND d.activity_key <= a.activity_key", "")
reads.string("names-are-sought-in-their-order", "Store/Fragments/AudienceCoverage.swift", "ORDER BY m.kind, m.member_id LIMIT 1", "ORDER BY m.member_key LIMIT 1")
reads.string("names-begin-with-the-name", "Store/Fragments/AudienceCoverage.swift", ") = \\(memberID), false)", ") >= \\(memberID), false)")

AREAS = [reads, ownership, leases, ageing, stamping, walks, rings, merges, barriers, endings, starts, ledger, channels, failures, continuations, halts, doctor]
