package import Waiting

/// What an operator may set; all of it has defaults.
package struct OrchestratorSettings: Sendable {
    /// An admin key that is accepted as it is, for the first steps on a new installation. Secret.
    package var bootstrapKey: String?
    /// The longest wait between two tries of the same push (promise 2).
    package var retryCap: Duration = .seconds(30)
    /// How long leased work stays with a daemon that says nothing (promise 12).
    package var lease: Duration = .seconds(4)
    /// How long a push waits for its answer.
    package var pushDeadline: Duration = .seconds(10)
    /// How often the database is asked for work when nothing wakes the daemon.
    package var pollInterval: Duration = .milliseconds(200)
    /// Segments worked on at the same time.
    package var concurrentSegments = 8
    /// A ring with more destinations is divided, so that several daemons can carry its activity.
    package var ringSize = 50_000
    /// Rows of what may be many that one statement reads or writes: members of an audience, devices, starts, cards. Few
    /// enough for what has to leave meanwhile.
    package var stretchSize = 2_000
    /// How long events and the timeline are kept at least.
    package var eventRetention: Duration = .seconds(7 * 86_400)
    /// How long an activity is kept after its end, at least a day, and at least as long as events; nil: for ever.
    package var activityRetention: Duration? = .seconds(30 * 86_400)
    /// How long it is kept what operators did; nil: for ever.
    package var auditRetention: Duration? = .seconds(400 * 86_400)
    /// How many changes may wait to be accepted before routine ones are refused; the others a little later.
    package var intakeLimit = 20_000
    /// How long they may have to wait for that, by the pace of the last moments.
    package var intakeWait: Duration = .seconds(1)
    /// The share of cards whose apps tell what they see on them, from 0 to 1.
    package var receiptSampling = 0.01
    /// The settings that have to be the same for all daemons, by their names. Daemons tell them, and the doctor compares.
    package var shared: [String: String] = [:]
    /// Where in its range a delay before another try falls, from 0 to 1; asked each time.
    package var jitter: @Sendable () -> Double = { .random(in: 0...1) }
    /// How long this daemon has run, by a clock that only goes on; for what is counted within a minute.
    package var uptime: @Sendable () -> Duration = { Self.beginning.duration(to: .now) }
    /// Returns after a time; throws when cancelled. For tries that are repeated.
    package var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// The defaults, except for what `change` sets.
    package init(_ change: (inout Self) -> Void = { _ in }) { change(&self) }

    private static let beginning = ContinuousClock.now

    /// This machine's clock, as ``uptime`` says.
    package func now() -> ContinuousClock.Instant { Self.beginning + uptime() }

    /// How often it is asked while there is nothing to do: a daemon at rest should use next to no CPU.
    package var pollIntervalAtRest: Duration { pollInterval * 5 }

    /// The waits between tries of the same push.
    package var backoff: Backoff { Backoff(cap: retryCap, jitter: jitter) }
}
