import APNSTransport
import ActivityModel
import OrchestratorTestSupport
import Store
import Testing
import Waiting

@testable import Delivery

@Suite("What an answer of APNs means to a start")
struct StartResultsTests {
    @Test(
        "A start that certainly did not leave is told from one that may have arrived",
        arguments: [
            (.notSent, .notSent(PushOutcome.notSent.words)), (.tooMany, .notSent(PushOutcome.tooMany.words)),
            (.unavailable, .notSent(PushOutcome.unavailable.words)), (.badKey, .notSent(PushOutcome.badKey.words)),
            (.noAnswer, .unknown(PushOutcome.noAnswer.words)), (.badBody, .refused(PushOutcome.badBody.words)),
            (.badToken, .tokenFailed(PushOutcome.badToken.words)), (nil, .accepted),
        ] as [(PushOutcome?, StartStateMachine.Answer)]
    )
    func meanings(outcome: PushOutcome?, answer: StartStateMachine.Answer) {
        var results = StartResults(backoff: Backoff(), environment: .production)
        #expect(results.meaning(of: outcome) == answer)
        #expect(results.credentialFailure == (outcome == .badKey ? PushOutcome.badKey.words : nil))
    }
}
