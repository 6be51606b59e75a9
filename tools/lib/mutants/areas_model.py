"""Mutants of the rules that are pure functions: stamps, the state machines, sizes, priorities, versions, halts."""

from mutant import Area

MODEL = "ActivityModel"
LIFECYCLE = f"{MODEL}/Lifecycle"

stamps = Area("stamps", "^ActivityModelTests[.].*Stamp|^DeliveryTests[.](StampLock|Merge|Ring|Carousel)")
STAMPING = f"{LIFECYCLE}/Stamping.swift"
stamps.expression("revisions-share-a-stamp", STAMPING, "max(now, last + 1)", "max(now, last)")
stamps.expression("stamp-goes-back-with-the-clock", STAMPING, "max(now, last + 1)", "now")
stamps.expression("stamp-is-not-the-clocks", STAMPING, "max(now, last + 1)", "last + 1")
stamps.expression("stamp-runs-ahead", STAMPING, "stamp <= now + maximumLead ? stamp : nil", "stamp")
stamps.expression("stamp-may-not-lead", STAMPING, "stamp <= now + maximumLead", "stamp <= now")
stamps.expression("no-wait-before-stamping", STAMPING, "max(0, whenSent(now: now, last: last) - now - maximumLead)", "0")
stamps.expression("skew-at-once", STAMPING, "last > now + skewThreshold", "last > now")
stamps.expression("old-stamp-is-sent", STAMPING, "age > Double(maximumAge)", "false")
stamps.expression("old-stamp-is-older", STAMPING, "30", "120", at="static let maximumAge: Int64 = 30")

end = Area("end", "^ActivityModelTests[.].*StateMachine|^DeliveryTests[.]Accept|^IntakeTests[.]Accept")
MACHINE = f"{LIFECYCLE}/ActivityStateMachine.swift"
end.statement("update-after-end", MACHINE, "if state == .ended { return .refuseEnded }")
end.expression("second-end", MACHINE, "isSame ? .repeated(revision: standing.revision) : .refuseEnded", "EndAction.refuseEnded")
end.expression("another-end", MACHINE, "contentState == nil || contentState == standing.contentState", "true")
end.statement("end-does-not-end", MACHINE, "state = .ended\n", "\n")
end.expression("end-forgets-the-state", MACHINE, "contentState ?? standing.contentState", "contentState ?? .null")
end.expression("same-event-time-is-late", MACHINE, "eventTime < newest", "eventTime <= newest")
end.expression("late-event-is-taken", MACHINE, "eventTime < newest", "false")
end.expression("event-of-the-future-is-taken", MACHINE, "eventTime / 1_000_000 > time + maximumEventLead", "false")
end.expression("event-of-the-present-is-refused", MACHINE, "eventTime / 1_000_000 > time + maximumEventLead",
               "eventTime / 1_000_000 > time")
end.expression("event-of-a-schedule-is-measured-now", MACHINE, "max(now, update.at ?? now)", "now")
end.expression("event-time-is-forgotten", MACHINE, "eventTime ?? standing.eventTime", "update.eventTime")
end.expression("forced-change-is-none", MACHINE, "!update.force", "true")
end.expression("alert-of-equal-state-is-lost", MACHINE, "!update.hasAlert", "true")
end.expression("equal-state-is-sent", MACHINE, "update.contentState == standing.contentState", "false")

barriers = Area(
    "barriers",
    "^ActivityModelTests[.].*StateMachine|"
    "^DeliveryTests[.](Boarding|Accept|CatchUp)|"
    "^IntakeTests[.]Accept"
)
barriers.expression("nine-barriers", MACHINE, "open < Self.maximumOpenBarriers", "open <= Self.maximumOpenBarriers")
barriers.expression("barriers-are-not-counted", MACHINE, "open + 1", "open", at="standing.openBarriers = open + 1")
barriers.expression("barrier-of-equal-state", MACHINE, "!isUnchanged", "true", at="if !isUnchanged, update.mustDeliver")

cards = Area("cards", "^ActivityModelTests|^DeliveryTests[.](Card|.*Watch)")
WATCH = f"{LIFECYCLE}/CardWatch.swift"
cards.expression("expires-late", WATCH, "age >= Self.microseconds(longestSeconds)", "age > Self.microseconds(longestSeconds)")
cards.expression("wakes-twice", WATCH, "!isWoken", "true", at="policy.wakeAfterSeconds, !isWoken, canWake")
cards.expression("overdue-twice", WATCH, "!isOverdue", "true", at="if !isOverdue, age >=")
cards.expression("looks-at-once-again", WATCH, "$0 > age", "$0 >= age")
CAPABILITY = f"{LIFECYCLE}/DeviceCapability.swift"
cards.expression("unknown-ios-gets-new-keys", CAPABILITY, "osVersion.map { $0 >= .channels } ?? false",
                 "osVersion.map { $0 >= .channels } ?? true")
cards.expression("old-ios-is-started", CAPABILITY, "osVersion.map { $0 < .pushToStart } ?? false", "false")
cards.expression("disabled-is-started", CAPABILITY, "activitiesEnabled == false", "false")

starts = Area(
    "starts",
    "^ActivityModelTests[.].*Start|"
    "^DeliveryTests[.](Start|Reported|Fallback|Enrolment)|"
    "^IntakeTests[.]Start"
)
START = f"{LIFECYCLE}/StartStateMachine.swift"
starts.expression("third-push", START, "attempts >= Self.maximumAttempts", "attempts > Self.maximumAttempts")
starts.expression("unwanted-is-cancelled-though-sent", START, "(attempts > 0 && !isWanted)", "false")
starts.statement("attempts-are-not-counted", START, "attempts += 1\n", "\n")
starts.expression("reported-is-started", START, "isReported", "false", at="if isReported {")
starts.expression("unwanted-is-started", START, "isWanted", "true", at="guard isWanted else {")
starts.expression("falls-back-twice", START, "!hasFallenBack", "true", at="obstacle.excludesCard, !hasFallenBack,")
starts.expression("falls-back-beside-a-card", START, "attempts == 0", "true", at="!hasFallenBack, attempts == 0 {")
starts.expression("falls-back-without-token", START, "false", "true", at="if case .noStartToken = self { return false }")
starts.expression("repeats-after-fallback", START, "!hasFallenBack", "true", at="obstacle, !hasFallenBack { return .wait(until: until) }")
starts.statement("unknown-is-never-repeated", START, "return .asClaimed", "return .never")
starts.expression("unsent-counts", START, "max(attempts - 1, 0)", "attempts")
starts.expression("live-token-is-not-tried", START, "isRenewed || hasLiveToken", "isRenewed")
starts.expression("renewed-is-not-tried", START, "isRenewed || hasLiveToken", "hasLiveToken")
starts.expression("no-report-counts-for-an-alert", START, "isAlert", "false", at="case .accepted, .unknown: isAlert")
starts.expression("unsent-is-given-up", START, "true", "false", at="takeBack(word, triesAgain: true)")
starts.expression("refused-is-repeated", START, "isRenewed", "true", at="case .refused(let word):\n            return takeBack(word, triesAgain: isRenewed)")
starts.statement("unsent-alert-is-lost", START, "hasFallenBack = false\n", "\n")
starts.expression("failures-are-not-counted", START, "min(failures + 1, 1000)", "failures")
SPENDING = f"{LIFECYCLE}/StartSpending.swift"
starts.expression("one-start-too-many", SPENDING, "spent.reduce(0) { $0 + $1.count } - budget.count + 1",
                  "spent.reduce(0) { $0 + $1.count } - budget.count")
starts.expression("repeat-counts-once", SPENDING, "$0 + $1.count", "$0 + 1")
starts.expression("old-starts-count", SPENDING, "$0.at > now - window", "true")

budget = Area("budget", "^ActivityModelTests[.].*Priorit|^DeliveryTests[.](Budget|RoutineChange)")
PRIORITY = f"{MODEL}/Policy/Priority.swift"
budget.expression("notable-takes-the-reserve", PRIORITY, "remaining > reserve", "remaining >= reserve")
budget.expression("alert-takes-the-last-unit", PRIORITY, "remaining > 1", "remaining > 0")
budget.expression("routine-alert-is-quiet", PRIORITY, "urgency == .routine && !hasAlert", "urgency == .routine")
budget.expression("critical-is-notable", PRIORITY, "urgency == .critical", "false")
budget.expression("end-waits-for-budget", PRIORITY, ".ten", ".five", at="PriorityDecision(priority: .ten, reason: .end")

sizes = Area("sizes", "^ActivityModelTests[.].*Bod|^DeliveryTests[.]Accept|^IntakeTests[.](Accept|StartRequest)")
LIMIT = f"{MODEL}/Pushes/SizeLimit.swift"
sizes.expression("device-limit", LIMIT, "4096", "4097", at="case .device, .stored: 4096")
sizes.expression("broadcast-limit", LIMIT, "5120", "4096", at="case .call, .broadcast: 5120")
sizes.expression("full-is-too-much", LIMIT, "count > bytes", "count >= bytes")
BODIES = f"{MODEL}/Rendering/BodySizes.swift"
sizes.expression("attributes-are-free", BODIES, "combination.attributes.count + contentState.count", "contentState.count")
sizes.expression("start-is-not-measured", BODIES, "combination.startAlert != nil", "false")
sizes.expression("end-is-measured-as-start", BODIES, "!combination.isEnd", "true", at="!combination.isEnd {\n            device = max")
sizes.expression("channel-is-measured-as-device", BODIES, "combination.delivery != .channel", "true")
sizes.expression("broadcast-is-not-measured", BODIES, "combination.delivery.usesChannel", "false", at="if combination.delivery.usesChannel { broadcast")
sizes.expression("later-end-is-not-measured", BODIES, "max(update.count, end.count)", "update.count")
sizes.expression("alerts-are-free", BODIES, "alerts.map(\\.bound).max() ?? 0", "0")
sizes.expression("nothing-is-measured", BODIES, "bound(contentState, combination) <= least", "true")

bodies = Area("bodies", "^ActivityModelTests[.].*(Bod|Polic)|^DeliveryTests[.]DeliveryTimes")
DISMISSAL = f"{MODEL}/Rendering/Dismissal.swift"
bodies.expression("dismissal-now-is-not-past", DISMISSAL, "timestamp - Self.pastSeconds", "timestamp")
bodies.expression("dismissal-after-four-hours", DISMISSAL, "min(seconds, Policy.maximumDismissal)", "seconds")
bodies.expression("dismissal-date-after-four-hours", DISMISSAL, "min(date, timestamp + Int64(Policy.maximumDismissal))", "date")
bodies.expression("policy-dismissal-is-ignored", DISMISSAL, "dismissAfterSeconds ?? policy.dismissAfterSeconds", "dismissAfterSeconds")
BODY = f"{MODEL}/Rendering/LiveActivityBody.swift"
bodies.expression("stale-date-is-relative", BODY, "timestamp + Int64(seconds)", "Int64(seconds)")
bodies.statement("no-update-token-is-asked-for", BODY, 'body.add("input-push-token", 1)', "break")
POLICY = f"{MODEL}/Policy/Policy.swift"
bodies.expression("expiration-on-a-channel-without-storage", POLICY, "storage == ChannelStorage.none", "false")
bodies.expression("no-expiration", POLICY, "seconds == 0", "true", at="|| seconds == 0 ?")

versions = Area(
    "versions",
    "^ActivityModelTests[.].*Version|"
    "^OrchestratorTests[.](.*Version|Compatib|Withheld|Widening|Alignment|Rejudgement)"
)
VERSIONS = f"{LIFECYCLE}/TypeVersions.swift"
versions.expression("least-version-is-too-old", VERSIONS, "$0 <= appVersion", "$0 < appVersion")
versions.expression("retired-counts", VERSIONS, "self.steps.filter { !$0.isRetired }", "self.steps")
versions.expression("unknown-app-is-the-newest", VERSIONS, "current.first ?? newest", "newest")
versions.expression("replaced-version-stays", VERSIONS, "$0 < taken", "$0 <= taken")
REJUDGEMENT = "Registry/Versions/Rejudgement.swift"
versions.expression("older-verdict-stands", REJUDGEMENT, "revisions[$0.activityKey] == $0.revision", "true")
versions.expression("only-one-page-is-judged", REJUDGEMENT, "page.last != nil", "false", at="return page.last != nil")
versions.expression("withheld-unasked", "Registry/Versions/Registry+Types.swift", "!foreseen.withheld.isEmpty", "false", at="var breaks = !foreseen.withheld.isEmpty")
versions.expression("first-page-alone", "Registry/Versions/VersionForesight.swift", "page.last", "nil", at="place = page.last\n        }\n        return compatibility")

replays = Area("replays", "^ActivityModelTests[.].*Start|^DeliveryTests[.]Accept|^IntakeTests[.](StartRequest|Accept)")
RECORD = f"{LIFECYCLE}/StartRecord.swift"
replays.expression("any-start-is-a-replay", RECORD, "other == self", "true")
replays.expression("ended-id-conflicts", RECORD, "state == .ended || other.attributes == attributes", "other.attributes == attributes")

halts = Area("halts", "^DeliveryTests[.](AnswerWatch|SendingHalt)")
WATCHER = "DeliveryStore/Halts/AnswerWatch.swift"
halts.expression("a-fifth-is-a-mass", WATCHER, "rejections * 5 > answers", "rejections * 5 >= answers")
halts.expression("few-answers-decide", WATCHER, "answers >= AnswerWatch.leastAnswers && isBad", "isBad")
halts.expression("silent-probe-is-good", WATCHER, "count.answers == 0", "false")
halts.expression("one-token-is-a-verdict", WATCHER, "count.rejections == 1", "false")
halts.expression("one-token-delays-all", WATCHER, "max(probes - 3, 0)", "probes")
halts.expression("window-is-endless", WATCHER, "oldest.second <= kept", "false")

answers = Area("answers", "^APNSTransportTests[.].*Answer|^DeliveryTests[.]Exception|^StoreTests[.]OpenOutcome")
RULES = "APNSTransport/Answers/AnswerRules.swift"
answers.expression("unregistered-is-rejected", RULES, ".tokenDead", ".tokenRejected", at='"Unregistered", .tokenDead')
answers.expression("bad-token-is-dead", RULES, ".tokenRejected", ".tokenDead", at='"BadDeviceToken", .tokenRejected')
answers.expression("wrong-topic-is-dead", RULES, ".tokenRejected", ".tokenDead", at='"DeviceTokenNotForTopic", .tokenRejected')
answers.expression("unnamed-answer-is-final", RULES, "[401, 403].contains(status) ? .credential : .retry", "[401, 403].contains(status) ? .credential : .requestInvalid")
answers.expression("throttled-is-final", RULES, ".retry", ".requestInvalid", at='429, "TooManyRequests", .retry')
answers.expression("unavailable-is-final", RULES, ".retry", ".requestInvalid", at='503, "ServiceUnavailable", .retry')
answers.expression("unnamed-403-is-no-credential", RULES, "[401, 403].contains(status) ? .credential : .retry", ".retry")
answers.expression("server-error-is-final", RULES, ".retry", ".requestInvalid", at='500, "InternalServerError", .retry')
answers.expression("expired-provider-token-stays", RULES, ".renewToken", ".keep", at='"ExpiredProviderToken", .credential, .renewToken')

pace = Area("pace", "^DeliveryTests[.](Pacing|Lease|Exception|Start)|^IntakeTests[.]Start")
BACKOFF = "Waiting/Backoff.swift"
pace.expression("no-cap", BACKOFF, "min(doubled, cap)", "doubled")
pace.expression("no-doubling", BACKOFF, "(1 << min(max(failures, 1) - 1, 20))", "1")
pace.expression("first-pause-is-double", BACKOFF, "max(failures, 1) - 1", "max(failures, 1)")

AREAS = [stamps, end, barriers, cards, starts, budget, sizes, bodies, versions, replays, halts, answers, pace]
