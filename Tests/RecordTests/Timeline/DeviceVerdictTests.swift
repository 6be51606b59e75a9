import APITypes
import APNSTransport
import ActivityModel
import Testing

@testable import Record

/// What is known of a device, and what a person who asks is told.
@Suite("Verdicts on devices")
struct DeviceVerdictTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let code: String
        /// What the words must say.
        let says: [String]
        let story: DeviceStory

        init(_ name: String, _ code: String, _ says: String..., change: (inout DeviceStory) -> Void) {
            self.name = name
            self.code = code
            self.says = says
            var story = DeviceStory(
                activity: .init(state: .live, newest: 15, environment: .production),
                device: .init(environment: .production, isWanted: true)
            )
            change(&story)
            self.story = story
        }

        var testDescription: String { name }
    }

    private static let noon = Instant(unixSeconds: 1_763_726_400)
    private static let noonText = "2025-11-21T12:00:00Z"

    private static func card(
        _ state: SubscriptionState,
        sent: Revision = 15,
        mode: SubscriptionMode = .token,
        reason: String? = nil
    ) -> DeviceStory.Card {
        DeviceStory.Card(
            mode: mode,
            state: state,
            reason: reason,
            sentRevision: sent,
            startedAt: noon,
            registeredAt: noon
        )
    }

    private static func spending(_ priority: Int, _ reason: String, spent: Int = 4) -> DeviceStory.Spending {
        DeviceStory.Spending(priority: priority, reason: reason, spent: spent, units: 10, windowSeconds: 3600)
    }

    private static func start(
        _ state: StartStateMachine.State,
        _ reason: String? = nil,
        attempts: Int = 0,
        dueAt: Instant? = nil,
        fellBack: Bool = false
    ) -> DeviceStory.Start {
        DeviceStory.Start(
            state: state,
            attempts: attempts,
            reason: reason,
            dueAt: dueAt,
            claimedAt: attempts > 0 ? noon : nil,
            hasFallenBack: fellBack
        )
    }

    static let nothing = [
        Case("never registered", "unknown_device", "No such device") { $0.device = nil },
        Case("not in the audience", "not_followed", "not in the audience", "no card") { $0.device?.isWanted = false },
        Case("not in the audience of what is over", "not_followed", "has ended", "nothing of it was ever sent") {
            $0.activity.state = .ended
            $0.device?.isWanted = false
        },
        Case("in the audience since just now", "start_pending", "about to be prepared") { _ in },
        Case("in the audience while sending is halted", "halted", "halted") { $0.activity.isHalted = true },
        Case("in the audience, without a start token", "withheld", "no start token") {
            $0.device?.obstacle = "no_start_token"
        },
        Case("not in the audience, whatever its version", "not_followed") {
            $0.device?.isWanted = false
            $0.device?.obstacle = "needs_ios_17_2"
        },
        Case("a build for the other environment", "other_environment", "sandbox", "production") {
            $0.device?.environment = .sandbox
        },
        Case("not begun", "scheduled", noonText) {
            $0.activity.state = .scheduled
            $0.activity.startsAt = noon
        },
    ]

    static let starts = [
        Case("to be sent", "start_pending", "about to be sent") { $0.start = start(.pending) },
        Case("to be sent when there is a channel", "channel_missing", "429 TooManyRequests") {
            $0.start = start(.pending)
            $0.channel = .init(state: .creating, storage: .none, sentRevision: 0, reason: "429 TooManyRequests")
        },
        Case("tried again", "start_retrying", "503 ServiceUnavailable", noonText) {
            $0.start = start(.pending, "503 ServiceUnavailable", dueAt: noon)
        },
        Case("held by a halt", "halted", "An operator", "`--leave-rejected`") {
            $0.start = start(.pending)
            $0.activity.isHalted = true
        },
        Case("on its way", "start_in_flight") { $0.start = start(.claimed, attempts: 1, dueAt: noon) },
        Case("without an answer", "start_unknown", "no answer came", "repeated once at \(noonText)") {
            $0.start = start(.unknown, attempts: 1, dueAt: noon)
        },
        Case("repeated without an answer", "start_unknown", "It was repeated once") {
            $0.start = start(.unknown, attempts: 2)
        },
        Case("sent, no report", "start_sent", "APNs accepted the start", "reported no card") {
            $0.start = start(.sent, attempts: 1)
        },
        Case("forgotten", "card_forgotten") { $0.start = start(.settled) },
        Case("iOS 17.1", "withheld", "before 17.2") { $0.start = start(.withheld, "needs_ios_17_2") },
        Case("iOS 17 and a channel", "withheld", "needs iOS 18") { $0.start = start(.withheld, "needs_ios_18") },
        Case("switched off", "withheld", "switched Live Activities off", "alert was sent instead") {
            $0.start = start(.withheld, "activities_disabled", fellBack: true)
        },
        Case("no start token", "withheld", "no start token") { $0.start = start(.withheld, "no_start_token") },
        Case("no start token while sending is halted", "withheld", "no start token", "sending is halted") {
            $0.start = start(.withheld, "no_start_token")
            $0.activity.isHalted = true
            $0.device?.hasSuspectStartToken = true
        },
        Case("rejected while sending is halted", "start_failed", "400 BadDeviceToken", "sending is halted") {
            $0.start = start(.failed, "400 BadDeviceToken")
            $0.activity.isHalted = true
            $0.device?.hasSuspectStartToken = true
        },
        Case("start budget", "withheld", "used up", "Tally starts it at \(noonText)") {
            $0.start = start(.withheld, "start_budget", dueAt: noon)
        },
        Case("refused", "start_failed", "413 PayloadTooLarge") { $0.start = start(.failed, "413 PayloadTooLarge") },
        Case("over before", "ended", "before the device could be started") {
            $0.start = start(.cancelled)
            $0.activity.state = .ended
        },
        Case("taken out", "not_followed", "taken out of the audience") {
            $0.start = start(.cancelled, "not_in_audience")
        },
        Case("installed anew", "other_environment") { $0.start = start(.cancelled, "environment_changed") },
    ]

    static let cards = [
        Case("old, and no new card may be started", "current", "new card was to continue it", "start_budget") {
            $0.card = card(.riding)
            $0.start = start(.withheld, "start_budget", dueAt: noon)
        },
        Case("no token, and no attribute for the id", "waiting_for_token", "names no `id_attribute`") {
            $0.card = card(.waitingForToken)
            $0.activity.hasIDAttribute = false
        },
        Case("no token yet", "waiting_for_token", "since", noonText, "Revision 15 goes out the moment it does") {
            $0.card = card(.waitingForToken)
        },
        Case("no token for too long", "token_overdue", "longer than it should", "woken") {
            $0.card = card(.waitingForToken)
            $0.card?.isOverdue = true
            $0.card?.isWoken = true
        },
        Case("dead token", "token_dead", "no longer active (410 Unregistered)", "at \(noonText)", "reports a new one") {
            $0.card = card(.dead, sent: 13, reason: "410 Unregistered")
            $0.lastPush = .init(revision: 14, outcome: .tokenDead, words: "410 Unregistered", at: noon)
        },
        Case("rejected token", "token_rejected", "400 BadDeviceToken", "other environment") {
            $0.card = card(.rejected, reason: "400 BadDeviceToken")
        },
        Case("rejected token while sending is halted", "halted", "400 BadDeviceToken", "a resume tries it again") {
            $0.card = card(.rejected, reason: "400 BadDeviceToken")
            $0.activity.isHalted = true
            $0.card?.isSuspect = true
        },
        Case("token rejected before the halt", "token_rejected", "400 BadDeviceToken", "other environment") {
            $0.card = card(.rejected, reason: "400 BadDeviceToken")
            $0.activity.isHalted = true
        },
        Case("too old an app", "incompatible_version", "could not decode") {
            $0.card = card(.withheld, reason: "incompatible_version")
        },
        Case("gone", "card_gone", "reported that its card is gone") { $0.card = card(.over) },
        Case("token moved", "token_moved", "Another device") { $0.card = card(.over, reason: "token_moved") },
        Case(
            "not begun",
            "waiting_to_begin",
            "pending at \(noonText)",
            "revision 15 goes out when",
            "`pending_updates`"
        ) {
            $0.card = card(.withheld, reason: "pending")
            $0.card?.pendingSince = noon
        },
        Case("not begun, and sent to", "pending", "about to be sent", "has not begun", "pending at \(noonText)") {
            $0.card = card(.riding, sent: 14)
            $0.card?.pendingSince = noon
        },
        Case("never begun", "expired", "more than 30 days") {
            $0.card = card(.over, reason: "expired")
            $0.card?.pendingSince = noon
        },
        Case("8 hours", "expired", "more than 8 hours") { $0.card = card(.over, reason: "expired") },
        Case("channel lost", "channel_gone", "Apple has lost") { $0.card = card(.over, reason: "channel_lost") },
        Case("spaced out", "held_back", noonText) {
            $0.card = card(.riding, sent: 14)
            $0.card?.heldUntil = noon
        },
        Case("channel gone", "channel_gone") { $0.card = card(.over, reason: "channel_deleted") },
        Case("on its way", "pending", "about to be sent", "revision 14") { $0.card = card(.riding, sent: 14) },
        Case("tried again", "retrying", "503 ServiceUnavailable", noonText) {
            $0.card = card(.due, sent: 14, reason: "503 ServiceUnavailable")
            $0.card?.dueAt = noon
        },
        Case("tried again with its ring", "retrying", "revision 14", "503 ServiceUnavailable", noonText) {
            $0.card = card(.riding, sent: 13)
            $0.lastPush = .init(revision: 14, outcome: .retry, words: "503 ServiceUnavailable", at: noon)
        },
        Case("tried again without an answer", "retrying", "no answer") {
            $0.card = card(.riding, sent: 14)
            $0.lastPush = .init(revision: 15, outcome: .unknown, words: "", at: noon)
        },
        Case("refused once, and accepted since", "pending", "about to be sent", "revision 14") {
            $0.card = card(.riding, sent: 14)
            $0.lastPush = .init(revision: 14, outcome: .retry, words: "503 ServiceUnavailable", at: noon)
        },
        Case("halted", "halted") {
            $0.card = card(.riding, sent: 14)
            $0.activity.isHalted = true
        },
        Case("refused for good", "refused", "revision 15", "400 BadPath") {
            $0.card = card(.riding)
            $0.lastPush = .init(revision: 15, outcome: .requestInvalid, words: "400 BadPath", at: noon)
        },
        Case("known by its start", "current", "revision 15") { $0.card = card(.riding) },
        Case("started after the others were sent it", "current", "its start carried it") {
            $0.card = card(.riding)
            $0.card?.confirmedRevision = 15
            $0.spending = spending(5, "routine")
        },
        Case("started again after its last card was sent it", "current", "its start carried it") {
            $0.card = card(.riding)
            $0.card?.confirmedRevision = 15
            $0.spending = spending(10, "notable")
            let before = Instant(unixSeconds: 1_763_726_399)
            $0.lastPush = .init(revision: 15, outcome: .accepted, words: "200", at: before, priority: 10)
        },
        Case("sent, and reported since", "sent", "accepted by APNs at priority 10") {
            $0.card = card(.riding)
            $0.card?.confirmedRevision = 15
            $0.spending = spending(10, "notable")
            $0.lastPush = .init(revision: 15, outcome: .accepted, words: "200", at: noon, priority: 10)
        },
        Case("priority 5", "sent_low_priority", "at priority 5", "nothing about it is urgent", "later") {
            $0.card = card(.riding)
            $0.spending = spending(5, "routine")
        },
        Case("demoted", "sent_low_priority", "it is notable, but only the reserve was left") {
            $0.card = card(.riding)
            $0.spending = spending(5, "notable_over_budget")
        },
        Case("priority 10", "sent", "accepted by APNs at priority 10, within the budget (4 of 10", "1 h") {
            $0.card = card(.riding)
            $0.spending = spending(10, "alert")
        },
        Case("the last of the budget", "sent", "10 of 10") {
            $0.card = card(.riding)
            $0.spending = spending(10, "alert", spent: 10)
        },
        Case(
            "beyond the budget",
            "sent_over_budget",
            "Revision 15 was accepted by APNs at priority 10; this phone's budget was likely used up",
            "11 of 10"
        ) {
            $0.card = card(.riding)
            $0.spending = spending(10, "alert", spent: 11)
        },
        Case("the end", "sent", "The end (revision 15) was accepted by APNs at priority 10") {
            $0.activity.state = .ended
            $0.card = card(.riding)
            $0.spending = spending(10, "end")
        },
        Case("confirmed by the phone", "shown", "The phone confirmed revision 15", noonText) {
            $0.card = card(.riding)
            $0.card?.shown = .init(revision: 15, at: noon)
            $0.spending = spending(5, "routine")
        },
        Case("confirmed before APNs answered", "shown", "The phone confirmed the end (revision 15)") {
            $0.activity.state = .ended
            $0.card = card(.due, sent: 14)
            $0.card?.shown = .init(revision: 15, at: noon)
        },
        Case("an older one confirmed", "pending", "about to be sent", "last confirmed revision 13", noonText) {
            $0.card = card(.riding, sent: 14)
            $0.card?.shown = .init(revision: 13, at: noon)
        },
        Case("confirmed, then gone", "card_gone", "reported that its card is gone", "last confirmed revision 15") {
            $0.card = card(.over)
            $0.card?.shown = .init(revision: 15, at: noon)
        },
    ]

    private static func onChannel(_ storage: ChannelStorage, sent: Revision, _ story: inout DeviceStory) {
        story.card = card(.riding, mode: .channel)
        story.channel = .init(state: .ready, storage: storage, sentRevision: sent)
        story.spending = spending(10, "alert")
    }

    static let channels = [
        Case("broadcast, nothing stored", "sent", "for the channel at priority 10", "offline at that moment missed it")
        {
            onChannel(.none, sent: 15, &$0)
        },
        Case("broadcast, stored", "sent", "stores it") { onChannel(.mostRecent, sent: 15, &$0) },
        Case("to be broadcast", "pending", "has been sent revision 14") { onChannel(.none, sent: 14, &$0) },
        Case("no channel", "channel_missing") { $0.card = card(.riding, mode: .channel) },
    ]

    @Test("Each thing that may be known of a device has its verdict", arguments: nothing + starts + cards + channels)
    func verdict(example: Case) {
        let verdict = DeviceVerdict.of(example.story)
        #expect(verdict.code == example.code)
        for words in example.says {
            #expect(verdict.text.contains(words), "\(verdict.text)")
        }
        #expect(verdict.text.hasSuffix("."))
    }

    static let startsWithoutSuspect = [
        Case("refused for another reason", "start_failed") { $0.start = start(.failed, "413 PayloadTooLarge") },
        Case("never had a token", "withheld") { $0.start = start(.withheld, "no_start_token") },
        Case("never had a token, and no start on record", "withheld") { $0.device?.obstacle = "no_start_token" },
    ]

    @Test("A start that no resume tries again is not said to be tried again", arguments: startsWithoutSuspect)
    func startBesideHalt(example: Case) {
        var story = example.story
        story.activity.isHalted = true
        let verdict = DeviceVerdict.of(story)
        #expect(verdict.code == example.code)
        #expect(!verdict.text.contains("resume"), "\(verdict.text)")
    }

    @Test("No verdict is forgotten: every state of a start and of a card gives whole sentences")
    func everyState() {
        for state in StartStateMachine.State.allCases {
            let verdict = DeviceVerdict.of(Case("", "") { $0.start = Self.start(state) }.story)
            #expect(!verdict.code.isEmpty && verdict.text.hasSuffix("."), "\(state)")
        }
        for state in SubscriptionState.allCases {
            for mode in SubscriptionMode.allCases {
                let verdict = DeviceVerdict.of(Case("", "") { $0.card = Self.card(state, mode: mode) }.story)
                #expect(!verdict.code.isEmpty && verdict.text.hasSuffix("."), "\(state) \(mode)")
            }
        }
    }
}
