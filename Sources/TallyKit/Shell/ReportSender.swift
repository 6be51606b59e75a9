package import Foundation

#if canImport(FoundationNetworking)
package import FoundationNetworking
#endif

/// Sends reports to Tally.
///
/// While the app may run, they leave at once through an ordinary session. When iOS is about to suspend it, those
/// without an answer go to a session that belongs to iOS. That one may take its time, and works without the app.
@MainActor
package final class ReportSender {
    private struct Sent {
        let request: URLRequest
        let body: Data
    }

    private let root: URL
    private let folder: URL
    private let take: @MainActor (PhoneEvent) -> Void
    private let session: URLSession
    private let background: URLSession
    /// Reports that left through the app's session.
    private var onTheWay: [Int: Sent] = [:]
    /// Those that iOS sends, also when the app's session gives up.
    private var handedOver: Set<Int> = []

    /// - Parameters:
    ///   - server: Where the phones' listener of Tally is.
    ///   - app: The bundle id.
    ///   - folder: For the bodies of reports that iOS sends.
    ///   - adjust: Changes the settings of both sessions; for tests.
    ///   - take: Takes the answers.
    package init(
        server: URL,
        app: String,
        folder: URL,
        adjust: (URLSessionConfiguration) -> Void = { _ in },
        take: @escaping @MainActor (PhoneEvent) -> Void
    ) {
        root = server.appending(path: "v1/apps/\(app)")
        self.folder = folder.appending(path: "TallyKit", directoryHint: .isDirectory)
        self.take = take
        let answers = Answers()
        let quick = URLSessionConfiguration.ephemeral
        quick.timeoutIntervalForRequest = 20
        adjust(quick)
        session = URLSession(configuration: quick, delegate: answers, delegateQueue: nil)
        #if os(Linux)
        let slow = URLSessionConfiguration.ephemeral
        #else
        let slow = URLSessionConfiguration.background(withIdentifier: "TallyKit.\(app)")
        slow.sessionSendsLaunchEvents = true
        slow.isDiscretionary = false
        #endif
        adjust(slow)
        background = URLSession(configuration: slow, delegate: answers, delegateQueue: nil)
        answers.sender = self
        answers.background = background
    }

    package func send(_ report: Report) {
        guard let body = try? report.body() else { return }  // All of it is text and numbers.
        var request = URLRequest(url: root.appending(path: report.path))
        request.httpMethod = report.method
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("Bearer \(report.ticket)", forHTTPHeaderField: "Authorization")
        // The next launch sends the others again.
        if report.subject.mayComeLate { onTheWay[report.number] = Sent(request: request, body: body) }
        let task = session.uploadTask(with: request, from: body)
        task.taskDescription = "\(report.number)"
        task.resume()
    }

    /// Leaves the rest to iOS. A report may then arrive twice: it is a PUT, and its generation tells.
    package func handOver() {
        for (number, sent) in onTheWay {
            do {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                try sent.body.write(to: file(number))
            } catch {
                continue  // The next launch sends it again.
            }
            let task = background.uploadTask(with: sent.request, fromFile: file(number))
            task.taskDescription = "\(number)"
            handedOver.insert(number)
            task.resume()
        }
        onTheWay = [:]
    }

    /// Removes the bodies that iOS does not need any more. Otherwise the bodies of a killed process would stay.
    package func removeOldBodies() async {
        let needed = await withCheckedContinuation { continuation in
            background.getAllTasks { tasks in
                continuation.resume(returning: Set(tasks.compactMap { $0.taskDescription.flatMap { Int($0) } }))
            }
        }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        } catch {
            return  // There is no folder yet.
        }
        for name in names {
            guard let text = name.wholeMatch(of: /report-(\d+)\.json/)?.output.1, let number = Int(text),
                !needed.contains(number), !handedOver.contains(number)
            else { continue }
            remove(number)
        }
    }

    fileprivate func end(_ number: Int, _ event: PhoneEvent, isByIOS: Bool) {
        onTheWay[number] = nil
        if isByIOS {
            handedOver.remove(number)
            remove(number)
        } else if case .noAnswer = event, handedOver.contains(number) {
            // The app's connection broke when iOS suspended it. iOS still sends the report.
            return
        }
        take(event)
    }

    private func file(_ number: Int) -> URL { folder.appending(path: "report-\(number).json") }

    private func remove(_ number: Int) {
        // It may be gone already, and a file that stays does no harm: the next launch tries again.
        try? FileManager.default.removeItem(at: file(number))
    }
}

/// Collects the answers of both sessions.
private final class Answers: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    @MainActor weak var sender: ReportSender?
    @MainActor weak var background: URLSession?
    /// By task. Only the lock's holder touches it, which is why the class may be shared.
    private var bodies: [ObjectIdentifier: Data] = [:]
    private let lock = NSLock()

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        lock.withLock { bodies[ObjectIdentifier(dataTask), default: Data()].append(data) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let body = lock.withLock { bodies.removeValue(forKey: ObjectIdentifier(task)) } ?? Data()
        guard let number = task.taskDescription.flatMap({ Int($0) }) else { return }
        let event: PhoneEvent
        if error == nil, let response = task.response as? HTTPURLResponse {
            event = .answer(
                number,
                Answer(
                    status: response.statusCode,
                    retryAfter: RetryAfter.seconds(
                        response.value(forHTTPHeaderField: "Retry-After"),
                        sentAt: response.value(forHTTPHeaderField: "Date"),
                        now: Date.now
                    ),
                    // Not JSON: a proxy answered, and the status says enough.
                    body: (try? JSONDecoder().decode(AnswerBody.self, from: body)) ?? AnswerBody()
                )
            )
        } else {
            event = .noAnswer(number)
        }
        Task { @MainActor in sender?.end(number, event, isByIOS: session === background) }
    }
}
