package import HTTP2Engine
package import Testing

/// Runs each test of a suite once with every client session. An issue names its session.
package struct BothSessions: SuiteTrait, TestTrait, TestScoping {
    /// The session of the current run, for the helpers that make clients.
    @TaskLocal package static var implementation = HTTP2Implementation.tally

    package let isRecursive = true

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        for implementation in HTTP2Implementation.allCases {
            let naming = IssueHandlingTrait.compactMapIssues { issue in
                var named = issue
                named.comments.append("with the session of \(implementation.rawValue)")
                return named
            }
            try await naming.provideScope(for: test, testCase: testCase) {
                await Self.$implementation.withValue(implementation) {
                    do {
                        try await function()
                    } catch {
                        // Recorded here, so that it is named and the other session has its turn.
                        Issue.record(error)
                    }
                }
            }
        }
    }
}

extension Trait where Self == BothSessions {
    /// Runs each test once with every client session.
    package static var bothSessions: Self { Self() }
}
