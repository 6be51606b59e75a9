internal import HTTP2Engine
internal import Reactor

/// A batch, or a single request, in progress. It belongs to the transport's loop.
final class Work {
    /// The latency of every 128th push is measured.
    private static let sampleDistance = 128

    let head: RequestHead
    let providerToken: ProviderToken
    /// `nil` for a single request, whose path is complete.
    let tokens: TokenBuffer?
    let body: SharedBytes?
    let deadline: ContinuousClock.Instant
    /// Whether the caller wants Apple's ids and the latency of each push.
    private let wantsReceipts: Bool
    private let completion: (Work) -> Void

    var ledger: BatchLedger
    /// The slot in the pool's table and its generation: the upper half of its pushes' tags.
    var place: UInt32 = 0
    var deadlineTimer: TimerID?
    /// Why no more of it may leave; `nil` while it may.
    var withdrawal: String?
    /// Its index in the pool's queue of work with something to send.
    var readyPlace: Int?
    /// The answer to a single request, if it has arrived.
    private(set) var response: HTTP2Response?
    private var receipts: [BatchOutcome.Receipt] = []
    /// When the measured pushes left.
    private var departures: [Int: ContinuousClock.Instant] = [:]
    /// The latencies of the measured pushes.
    private(set) var latencies: [Duration] = []

    private var layOut: (token: ProviderToken, headers: SharedHeaders)?

    init(
        head: RequestHead,
        providerToken: ProviderToken,
        tokens: TokenBuffer?,
        body: [UInt8]?,
        deadline: ContinuousClock.Instant,
        wantsReceipts: Bool = false,
        completion: @escaping (Work) -> Void
    ) {
        self.head = head
        self.providerToken = providerToken
        self.tokens = tokens
        self.body = body.map { SharedBytes($0) }
        self.deadline = deadline
        self.wantsReceipts = wantsReceipts
        self.completion = completion
        ledger = BatchLedger(count: tokens?.count ?? 1)
    }

    /// The header fields of its requests; looked up once per provider token.
    func headers(_ token: ProviderToken, from recent: inout RecentHeaders) throws(HTTP2Error) -> SharedHeaders {
        if let layOut, layOut.token == token { return layOut.headers }
        let headers = try recent.headers(head, token)
        layOut = (token, headers)
        return headers
    }

    /// Sends up to `limit` pushes and counts them. False if the connection accepts no more.
    ///
    /// It stores the time of every 128th push, or of all if the caller wants receipts.
    ///
    /// - `flight`: where they are then, without the stream.
    func send(
        upTo limit: Int,
        _ flight: BatchLedger.Flight,
        now: ContinuousClock.Instant,
        through submissions: inout HTTP2Submissions,
        counting sent: inout Int
    ) throws(HTTP2Error) -> Bool {
        let place = UInt64(place)
        return try ledger.send(upTo: limit, counting: &sent) { (index) throws(HTTP2Error) in
            var flight = flight
            flight.stream = try add(WorkTable.tag(place, index), index, to: &submissions)
            guard flight.stream != nil else {
                return nil
            }
            if isMeasured(index) {
                departures[index] = now
            }
            return flight
        }
    }

    /// Adds the token of the push to the common path. A single request has its whole path there.
    private func add(
        _ tag: UInt64,
        _ index: Int,
        to submissions: inout HTTP2Submissions
    ) throws(HTTP2Error) -> HTTP2StreamID? {
        guard let tokens else {
            return try submissions.add(tag: tag, pathSuffix: Span())
        }
        return try submissions.add(tag: tag, pathSuffix: tokens.text.span.extracting(tokens.range(index)))
    }

    /// Records the answer to a push. Returns its latency for every 128th.
    func arrived(_ index: Int, _ response: HTTP2Response) -> Duration? {
        if tokens == nil {
            self.response = response
        }
        guard isMeasured(index), let departure = departures.removeValue(forKey: index) else {
            return nil
        }
        let latency = departure.duration(to: .now)
        if wantsReceipts {
            keepReceipt(index, response, latency)
        }
        guard index.isMultiple(of: Self.sampleDistance) else {
            return nil
        }
        latencies.append(latency)
        return latency
    }

    private func isMeasured(_ index: Int) -> Bool {
        wantsReceipts || index.isMultiple(of: Self.sampleDistance)
    }

    /// Records that the push was accepted. Stores its ids if a caller may need them.
    func accepted(_ index: Int, _ response: HTTP2Response) {
        guard ledger.accept(index), !wantsReceipts else {
            return
        }
        if ledger.count == 1 || response.fields.uniqueID != nil {
            keepReceipt(index, response, nil)
        }
    }

    private func keepReceipt(_ index: Int, _ response: HTTP2Response, _ latency: Duration?) {
        receipts.append(
            BatchOutcome.Receipt(
                index: index,
                apnsID: response.fields.apnsID,
                uniqueID: response.fields.uniqueID,
                latency: latency
            )
        )
    }

    /// The outcome of all pushes. Read it after the ledger is complete.
    var outcome: BatchOutcome {
        BatchOutcome(accepted: ledger.accepted, exceptions: ledger.exceptions, receipts: receipts)
    }

    /// Calls the completion. Call it once, after the ledger is complete.
    func complete() {
        completion(self)
    }
}
