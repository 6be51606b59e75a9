import APNSTransport
import ActivityModel
import OrchestratorTestSupport
import Testing

@testable import Store

@Suite("Credentials that APNs refuses")
struct CredentialRefusalTests {
    private static func place(
        _ environment: APNSEnvironment = .production,
        isBroadcast: Bool = false
    ) -> CredentialRefusals.Place {
        let scope = HaltScope(app: BundleID(stored: "com.example.app"), environment: environment)
        return CredentialRefusals.Place(scope: scope, isBroadcast: isBroadcast)
    }

    private static let refused = BatchOutcome(count: 3, allAre: .badKey)
    private static let accepted = BatchOutcome(accepted: 1, exceptions: [])

    @Test("The same refusal is logged once a minute for each environment, another one at once")
    func notices() {
        let (refusals, now) = (CredentialRefusals(), ContinuousClock.now)
        #expect(refusals.observe(Self.refused, at: Self.place(), now: now)?.words == "403 InvalidProviderToken")
        #expect(refusals.observe(Self.refused, at: Self.place(), now: now + .seconds(59)) == nil)
        #expect(refusals.observe(Self.refused, at: Self.place(.sandbox), now: now) != nil)
        let topic = BatchOutcome(count: 1, allAre: PushOutcome(.credential, status: 400, reason: "TopicDisallowed"))
        #expect(refusals.observe(topic, at: Self.place(), now: now + .seconds(59))?.reason == "TopicDisallowed")
        #expect(refusals.observe(Self.refused, at: Self.place(), now: now + .seconds(60)) != nil)
    }

    @Test("An accepted push ends it where it was accepted; else it is forgotten after a quarter of an hour")
    func ends() {
        let (refusals, now) = (CredentialRefusals(), ContinuousClock.now)
        for place in [Self.place(), Self.place(.sandbox), Self.place(isBroadcast: true)] {
            _ = refusals.observe(Self.refused, at: place, now: now)
        }
        #expect(refusals.current(at: now).count == 3)
        _ = refusals.observe(BatchOutcome(count: 1, allAre: .unavailable), at: Self.place(), now: now)
        #expect(refusals.current(at: now).count == 3)
        #expect(refusals.observe(Self.accepted, at: Self.place(), now: now) == nil)
        #expect(
            refusals.current(at: now).map(\.place) == [Self.place(isBroadcast: true), Self.place(.sandbox)]
        )
        #expect(refusals.current(at: now + .seconds(899)).count == 2)
        #expect(refusals.current(at: now + .seconds(900)).isEmpty)
    }
}
