/// The open streams of a server session. The callbacks write it; the session reads it.
final class ServerStreams {
    struct Slot {
        var stream: Int32 = 0
        var method = ""
        var path = ""
        var authority = ""
        var fields = HTTP2Fields()
        var headerBytes = 0
        var body: [UInt8] = []
        var isBodyComplete = true
        var wasHandedOver = false
        var isAnswered = false
        /// The response's body, retained until the stream has ended.
        var answer: SharedBytes?
        var answerSent = 0
    }

    var slots: [Slot] = []
    private var free: [Int] = []
    /// Slots whose request is ready for delivery, each with its stream at that time.
    var ready: [(slot: Int, stream: Int32)] = []
    /// The library's error about the last frame that it refused. It may concern one stream only.
    var lastFault: String?
    /// Why the session has given up the connection.
    var violation: String?
    /// Whether this side chose to send a GOAWAY.
    var isGoingAway = false
    let maximumBody: Int
    let maximumHeaders: Int

    init(maximumBody: Int, maximumHeaders: Int) {
        self.maximumBody = maximumBody
        self.maximumHeaders = maximumHeaders
    }

    var open: Int { slots.count - free.count }

    func begin(stream: Int32) -> Int {
        let index: Int
        if let reused = free.popLast() {
            index = reused
        } else {
            index = slots.count
            slots.append(Slot())
        }
        slots[index].stream = stream
        return index
    }

    func end(_ index: Int) {
        slots[index] = Slot()
        free.append(index)
    }

    /// Marks the request as ready; no more of it will arrive.
    func makeReady(_ index: Int) {
        guard !slots[index].wasHandedOver else { return }
        slots[index].wasHandedOver = true
        ready.append((index, slots[index].stream))
    }

    /// Moves the request out of a slot.
    func takeRequest(_ index: Int) -> HTTP2Request {
        let slot = slots[index]
        slots[index].fields = HTTP2Fields()
        slots[index].body = []
        return HTTP2Request(
            method: slot.method,
            path: slot.path,
            authority: slot.authority,
            fields: slot.fields,
            body: slot.body,
            isBodyComplete: slot.isBodyComplete,
            streamID: slot.stream
        )
    }

    /// Adds one field; false if the fields exceed the limit.
    func header(_ slot: Int, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        let isPseudo = unsafe name.first == UInt8(ascii: ":")
        guard slots[slot].headerBytes + name.count + value.count <= maximumHeaders else { return false }
        slots[slot].headerBytes += name.count + value.count
        guard isPseudo else {
            unsafe slots[slot].fields.append(name: name, value: value)
            return true
        }
        let text = unsafe String(decoding: value, as: UTF8.self)
        if unsafe name.elementsEqual(":path".utf8) {
            slots[slot].path = text
        } else if unsafe name.elementsEqual(":method".utf8) {
            slots[slot].method = text
        } else if unsafe name.elementsEqual(":authority".utf8) {
            slots[slot].authority = text
        }
        return true
    }

    /// Adds a part of the body. Bytes above the limit are lost, and the request is marked as incomplete.
    func data(_ slot: Int, _ chunk: UnsafeBufferPointer<UInt8>) {
        guard !slots[slot].wasHandedOver else { return }
        let room = maximumBody - slots[slot].body.count
        unsafe slots[slot].body.append(contentsOf: chunk.prefix(room))
        if chunk.count > room {
            slots[slot].isBodyComplete = false
            makeReady(slot)
        }
    }

    /// Copies the next part of a response's body.
    func readAnswer(_ slot: Int, into target: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, isLast: Bool) {
        guard let answer = slots[slot].answer else { return (0, true) }
        let sent = slots[slot].answerSent
        let count = unsafe answer.copy(from: sent, into: target)
        slots[slot].answerSent = sent + count
        return (count, sent + count == answer.count)
    }
}
