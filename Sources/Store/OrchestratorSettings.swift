package import Waiting

/// What an operator may set; all of it has defaults.
package struct OrchestratorSettings: Sendable {
    /// An admin key that is accepted as it is, for the first steps on a new installation. Secret.
    package var bootstrapKey: String?
    /// The longest wait between two tries of the same push (promise 2).
    package var retryCap: Duration
    /// How long leased work stays with a daemon that says nothing (promise 12).
    package var lease: Duration
    /// How long a push waits for its answer.
    package var pushDeadline: Duration
    /// How often the database is asked for work when nothing wakes the daemon.
    package var pollInterval: Duration
    /// Segments worked on at the same time.
    package var concurrentSegments: Int
    /// A ring with more destinations is divided, so that several daemons can carry its activity.
    package var ringSize: Int
    /// Rows of what may be many that one statement reads or writes: members of an audience, devices, starts, cards. Few
    /// enough for what has to leave meanwhile.
    package var stretchSize: Int
    /// How long events and the timeline are kept at least.
    package var eventRetention: Duration
    /// How long an activity is kept after its end, at least a day, and at least as long as events; nil: for ever.
    package var activityRetention: Duration?
    /// How long it is kept what operators did; nil: for ever.
    package var auditRetention: Duration?
    /// How many changes may wait to be accepted before routine ones are refused; the others a little later.
    package var intakeLimit: Int
    /// How long they may have to wait for that, by the pace of the last moments.
    package var intakeWait: Duration
    /// The share of cards whose apps tell what they see on them, from 0 to 1.
    package var receiptSampling: Double
    /// Where in its range a delay before another try falls, from 0 to 1; asked each time.
    package var jitter: @Sendable () -> Double
    /// How long this daemon has run, by a clock that only goes on; for what is counted within a minute.
    package var uptime: @Sendable () -> Duration
    /// Returns after a time; throws when cancelled. For tries that are repeated.
    package var pause: @Sendable (Duration) async throws -> Void

    package init(
        bootstrapKey: String? = nil,
        retryCap: Duration = .seconds(30),
        lease: Duration = .seconds(4),
        pushDeadline: Duration = .seconds(10),
        pollInterval: Duration = .milliseconds(200),
        concurrentSegments: Int = 8,
        ringSize: Int = 50_000,
        stretchSize: Int = 2_000,
        eventRetention: Duration = .seconds(7 * 86_400),
        activityRetention: Duration? = .seconds(30 * 86_400),
        auditRetention: Duration? = .seconds(400 * 86_400),
        intakeLimit: Int = 20_000,
        intakeWait: Duration = .seconds(1),
        receiptSampling: Double = 0.01,
        jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) },
        uptime: @escaping @Sendable () -> Duration = Self.processTime,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.bootstrapKey = bootstrapKey
        self.retryCap = retryCap
        self.lease = lease
        self.pushDeadline = pushDeadline
        self.pollInterval = pollInterval
        self.concurrentSegments = concurrentSegments
        self.ringSize = ringSize
        self.stretchSize = stretchSize
        self.eventRetention = eventRetention
        self.activityRetention = activityRetention
        self.auditRetention = auditRetention
        self.intakeLimit = intakeLimit
        self.intakeWait = intakeWait
        self.receiptSampling = receiptSampling
        self.jitter = jitter
        self.uptime = uptime
        self.pause = pause
    }

    private static let beginning = ContinuousClock.now

    /// Since the process has first asked.
    @Sendable package static func processTime() -> Duration { beginning.duration(to: .now) }

    /// This machine's clock, as ``uptime`` says.
    package func now() -> ContinuousClock.Instant { Self.beginning + uptime() }

    /// How often it is asked while there is nothing to do: a daemon at rest should use next to no CPU.
    package var pollIntervalAtRest: Duration { pollInterval * 5 }

    /// The waits between tries of the same push.
    package var backoff: Backoff { Backoff(cap: retryCap, jitter: jitter) }
}
