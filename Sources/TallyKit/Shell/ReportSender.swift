package import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sends reports to Tally.
///
/// While the app may run, they leave at once through an ordinary session. When iOS is about to suspend it, those
/// without an answer go to a session that belongs to iOS. That one may take its time, and works without the app.
@MainActor
package final class ReportSender {
    private let root: URL
    private let folder: URL
    private let answers: Answers
    private let session: URLSession
    private let background: URLSession
    private var onTheWay: [Int: URLRequest] = [:]
    private var bodies: [Int: Data] = [:]

    /// - Parameters:
    ///   - server: Where the phones' listener of Tally is.
    ///   - app: The bundle id.
    ///   - folder: For the bodies of reports that iOS sends.
    ///   - take: Takes the answers.
    package init(server: URL, app: String, folder: URL, take: @escaping @MainActor (Event) -> Void) {
        root = server.appending(path: "v1/apps/\(app)")
        self.folder = folder.appending(path: "TallyKit", directoryHint: .isDirectory)
        answers = Answers(take: take)
        let quick = URLSessionConfiguration.ephemeral
        quick.timeoutIntervalForRequest = 20
        session = URLSession(configuration: quick, delegate: answers, delegateQueue: nil)
        #if os(Linux)
        let slow = URLSessionConfiguration.ephemeral
        #else
        let slow = URLSessionConfiguration.background(withIdentifier: "TallyKit.\(app)")
        slow.sessionSendsLaunchEvents = true
        slow.isDiscretionary = false
        #endif
        background = URLSession(configuration: slow, delegate: answers, delegateQueue: nil)
    }

    package func send(_ report: Report) {
        guard let body = try? report.body() else { return }  // All of it is text and numbers.
        var request = URLRequest(url: root.appending(path: report.path))
        request.httpMethod = "PUT"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("Bearer \(report.ticket)", forHTTPHeaderField: "Authorization")
        onTheWay[report.number] = request
        bodies[report.number] = body
        let task = session.uploadTask(with: request, from: body)
        task.taskDescription = "\(report.number)"
        task.resume()
    }

    /// An event came for the report, so it is not on its way any more.
    package func forget(_ number: Int) {
        onTheWay[number] = nil
        bodies[number] = nil
    }

    /// Leaves the rest to iOS. A report may then arrive twice: it is a PUT, and its generation tells.
    package func handOver() {
        for (number, request) in onTheWay {
            let file = folder.appending(path: "report-\(number).json")
            do {
                try bodies[number]?.write(to: file)
            } catch {
                continue  // The next launch sends it again.
            }
            let task = background.uploadTask(with: request, fromFile: file)
            task.taskDescription = "\(number)"
            task.resume()
        }
    }
}

/// Collects the answers of both sessions.
private final class Answers: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let take: @MainActor (Event) -> Void
    /// By session and task. Only the lock's holder touches it, which is why the class may be shared.
    private var bodies: [ObjectIdentifier: Data] = [:]
    private let lock = NSLock()

    init(take: @escaping @MainActor (Event) -> Void) {
        self.take = take
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        lock.withLock { bodies[ObjectIdentifier(dataTask), default: Data()].append(data) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let body = lock.withLock { bodies.removeValue(forKey: ObjectIdentifier(task)) } ?? Data()
        guard let number = task.taskDescription.flatMap({ Int($0) }) else { return }
        let event: Event
        if error == nil, let response = task.response as? HTTPURLResponse {
            event = .answer(
                number,
                Answer(
                    status: response.statusCode,
                    retryAfter: response.value(forHTTPHeaderField: "Retry-After").flatMap { Double($0) },
                    // Not JSON: a proxy answered, and the status says enough.
                    body: (try? JSONDecoder().decode(AnswerBody.self, from: body)) ?? AnswerBody()
                )
            )
        } else {
            event = .noAnswer(number)
        }
        Task { @MainActor in take(event) }
    }
}
