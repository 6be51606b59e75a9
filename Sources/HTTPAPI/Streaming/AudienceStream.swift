import APITypes
import ActivityModel
import Cryptography
import HTTP1Server
import Intake
import JSON
import Registry
import ServiceLifecycle
import Store

/// A list of users and devices, one a line, that is added to the audience of an activity in pages.
///
/// While a page is stored, no more than the next group of lines is read. So a caller that sends faster than the database
/// commits has to wait, and the memory does not grow with the list.
struct AudienceStream: Sendable {
    /// How many users and devices a page has. A list that is sent again is compared by pages. A daemon with another size
    /// would refuse the rest of a list that broke off.
    static let pageSize = 2_000
    /// The most bytes of a line. The longest id needs less, even if each of its characters is escaped.
    static let longestLine = 4 << 10

    let service: any TallyService
    let app: BundleID
    let activity: ActivityID
    /// The key of the whole list.
    let key: IdempotencyKey?
    let principal: Principal?
    let terms: StreamTerms
    let incoming: HTTPCall
    let turns: ReadingTurns
    /// How often the caller is looked up again.
    var authentication = Duration.seconds(15)

    /// Reads the list to its end, and stores it.
    ///
    /// - Returns: How many the whole audience reaches, how long the list was, and how much of it was there before.
    /// - Throws: ``Problem``, with the number of a wrong line and of the lines that are stored before it; what a service
    ///   throws; ``BodyReadError``.
    func add() async throws -> Replayable<AudienceCounts> {
        let groups = LineGroups(
            incoming,
            mostLines: Self.pageSize,
            longestLine: min(Self.longestLine, terms.longestLine),
            turns: turns
        ) { (line: [UInt8]) throws(Problem) in try UserOrDevice(json: try RouteCall.json(line, "line")) }
        return try await withTaskExecutorPreference(globalConcurrentExecutor) {
            try await withGracefulShutdownHandler {
                try await add(groups)
            } onGracefulShutdown: {
                groups.stop()
            }
        }
    }

    private func add(_ groups: LineGroups<UserOrDevice>) async throws -> Replayable<AudienceCounts> {
        var page = OpenPage()
        var stored: AudienceListProgress?
        // How many lines earlier requests have stored.
        var skipped = 0
        var checked = ContinuousClock.now
        do {
            while let group = try await next(groups) {
                for (place, line) in group.values.enumerated() {
                    guard let line else { continue }
                    // A full page is stored when more follows, so the last one is known as the last.
                    if page.count == Self.pageSize {
                        try await checkCaller(since: &checked)
                        stored = try await store(page.close(isLast: false), after: stored)
                        if stored?.isKept == true { skipped = page.lines }
                        incoming.tellProgress()
                    }
                    switch line {
                    case .success(let name): page.append(name)
                    case .failure(let problem): throw problem.about(line: group.first + place)
                    }
                }
            }
            if groups.isStopped { throw Problem.unavailable("The server is stopping.") }
            try await checkCaller(since: &checked)
            let last = try await store(page.close(isLast: true), after: stored)
            if last.isKept { skipped = page.lines }
            var answer = last.answer
            if skipped > 0 { answer.skippedLines = skipped }
            return Replayable(answer, isReplay: last.isReplay)
        } catch let problem as Problem {
            throw problem.behind(lines: stored?.answer.lines ?? 0)
        }
    }

    private func next(_ groups: LineGroups<UserOrDevice>) async throws -> LineGroup<UserOrDevice>? {
        do {
            return try await groups.next()
        } catch {
            throw BodyReadError(cause: error)
        }
    }

    private func store(
        _ page: AudienceListPage,
        after stored: AudienceListProgress?
    ) async throws -> AudienceListProgress {
        try await service.intake.addToAudience(app, activity, page, after: stored, idempotency: key)
    }

    /// - Throws: 401 if the caller has lost its key since the list began.
    private func checkCaller(since checked: inout ContinuousClock.Instant) async throws {
        guard checked.duration(to: .now) >= authentication else { return }
        guard try await terms.authenticateAgain() == principal else { throw Problem.unauthorized() }
        checked = .now
    }
}

/// The page of a list that is being read. Pure.
private struct OpenPage {
    private(set) var count = 0
    /// How many pages are before it.
    private var number = 0
    private(set) var lines = 0
    private var members = Audience()
    /// The members as text, for the hash.
    private var text: [UInt8] = []
    /// Of the pages before.
    private var digest = SHA256.hash("")

    mutating func append(_ name: UserOrDevice) {
        count += 1
        lines += 1
        switch name {
        case .user(let id):
            members.users.append(id)
            text.append(UInt8(ascii: "u"))
            text += id.rawValue.utf8
        case .device(let id):
            members.devices.append(id)
            text.append(UInt8(ascii: "d"))
            text += id.rawValue.utf8
        }
        // No id has a line feed.
        text.append(UInt8(ascii: "\n"))
    }

    /// Ends the page, and begins the next one. A page without members is no page of its own.
    mutating func close(isLast: Bool) -> AudienceListPage {
        if count > 0 {
            number += 1
            digest = SHA256.hash(digest + text)
        }
        let page = AudienceListPage(number: number, members: members, lines: lines, digest: digest, isLast: isLast)
        count = 0
        members = Audience()
        text = []
        return page
    }
}

extension Problem {
    /// The same problem, about a line of the body.
    fileprivate func about(line: Int) -> Problem {
        var problem = self
        problem.extra["line"] = .number(JSONNumber(line))
        problem.detail = "Line \(line): " + problem.detail
        return problem
    }

    /// The same problem, behind lines that are stored.
    fileprivate func behind(lines: Int) -> Problem {
        var problem = self
        problem.extra["stored_lines"] = .number(JSONNumber(lines))
        if lines > 0 { problem.detail += " The first \(lines) members of the list are stored." }
        return problem
    }
}
