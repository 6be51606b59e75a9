import DeliveryStore
import TestSupport
import Testing

@Suite("Watching for mass rejections")
struct AnswerWatchTests {
    private typealias Count = AnswerWatch.Count

    @Test(
        "More than 20 % of 100 or more answers within a minute halt sending, nothing less does",
        arguments: [
            (99, 99, false), (100, 20, false), (100, 21, true), (1_000, 200, false), (1_000, 201, true),
            (100, 0, false),
        ]
    )
    func threshold(answers: Int, rejections: Int, halts: Bool) {
        var watch = AnswerWatch()
        #expect((watch.observe(Count(answers: answers, rejections: rejections), at: 0) != nil) == halts)
    }

    @Test("Answers count for a minute, however they are spread")
    func window() {
        var watch = AnswerWatch()
        #expect(watch.observe(Count(answers: 60, rejections: 30), at: 0) == nil)
        #expect(watch.observe(Count(answers: 39, rejections: 0), at: 59) == nil)
        var late = watch
        #expect(late.observe(Count(answers: 1, rejections: 0), at: 60) == nil, "the first 60 are a minute old")
        #expect(watch.observe(Count(answers: 1, rejections: 0), at: 59) == Count(answers: 100, rejections: 30))
    }

    @Test("A device that is rejected again and again counts once, and as long as after its last rejection")
    func liar() {
        var watch = AnswerWatch()
        _ = watch.observe(Count(answers: 99), at: 0)
        for second in Int64(0)..<59 {
            #expect(
                watch.observe(Count(answers: 10, rejections: 10), of: Array(repeating: 7, count: 10), at: second) == nil
            )
            #expect(watch.count(at: second) == Count(answers: 100, rejections: 1))
        }
        #expect(watch.count(at: 117) == Count(answers: 1, rejections: 1))
        #expect(watch.count(at: 118) == Count())
    }

    @Test("More devices than can be told apart are a mass")
    func manyDevices() {
        var watch = AnswerWatch()
        let devices = (0..<Int64(AnswerWatch.mostDevices + 5)).map { $0 }
        let count = Count(answers: devices.count, rejections: devices.count)
        #expect(watch.observe(count, of: devices, at: 0) == count)
        #expect(watch.observe(count, of: devices, at: 1)?.rejections == devices.count + 5)
    }

    /// The same rule, written the slow way.
    @Test("Each device's last rejection within 60 seconds counts, and every other answer", arguments: 1...50)
    func propertyOfDevices(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var watch = AnswerWatch()
        var all: [(second: Int64, answers: Int, devices: [Int64])] = []
        var second: Int64 = 0
        for _ in 0..<200 {
            second += Int64.random(in: 0...9, using: &random)
            let devices = (0..<Int.random(in: 0...9, using: &random)).map { _ in
                Int64.random(in: 0...30, using: &random)
            }
            let accepted = Int.random(in: 0...9, using: &random)
            all.append((second, accepted, devices))
            let recent = all.filter { $0.second > second - 60 }
            let rejections = Set(recent.flatMap(\.devices)).count
            let expected = Count(answers: recent.map(\.answers).reduce(rejections, +), rejections: rejections)
            let count = Count(answers: accepted + devices.count, rejections: devices.count)
            #expect(watch.observe(count, of: devices, at: second) == (expected.isExcessive ? expected : nil))
            #expect(watch.count(at: second) == expected)
        }
    }

    /// The same rule, written the slow way.
    @Test("The window holds exactly the answers of the last 60 seconds", arguments: 1...50)
    func property(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var watch = AnswerWatch()
        var all: [(second: Int64, count: Count)] = []
        var second: Int64 = 0
        for _ in 0..<200 {
            second += Int64.random(in: 0...9, using: &random)
            let answers = Int.random(in: 0...20, using: &random)
            let count = Count(answers: answers, rejections: Int.random(in: 0...answers, using: &random) / 3)
            all.append((second, count))
            let recent = all.filter { $0.second > second - 60 }.map(\.count)
            let answersNow = recent.map(\.answers).reduce(0, +)
            let rejectionsNow = recent.map(\.rejections).reduce(0, +)
            let halts = answersNow >= 100 && rejectionsNow * 5 > answersNow
            #expect(
                watch.observe(count, at: second)
                    == (halts ? Count(answers: answersNow, rejections: rejectionsNow) : nil)
            )
        }
    }

    @Test("A probe is judged by its own answers alone")
    func probe() {
        var watch = AnswerWatch()
        _ = watch.observe(Count(answers: 99, rejections: 99), at: 0)
        watch.beginProbe()
        #expect(watch.observe(Count(answers: 10, rejections: 2), at: 0) == nil)
        #expect(watch.endProbe() == .good)
        watch.beginProbe()
        _ = watch.observe(Count(answers: 10, rejections: 3), at: 0)
        #expect(watch.endProbe() == .bad)
        watch.beginProbe()
        #expect(watch.endProbe() == .none)
        #expect(watch.observe(Count(answers: 1, rejections: 1), at: 0) == nil, "what was before is forgotten")
    }

    @Test("A probe that meets one bad token, however often, is no verdict; with two it is bad")
    func probeOfOneToken() {
        var watch = AnswerWatch()
        watch.beginProbe()
        _ = watch.observe(Count(answers: 10, rejections: 10), of: Array(repeating: -7, count: 10), at: 0)
        #expect(watch.endProbe() == .unclear)
        watch.beginProbe()
        _ = watch.observe(Count(answers: 10, rejections: 1), of: [-7], at: 0)
        #expect(watch.endProbe() == .good)
        watch.beginProbe()
        _ = watch.observe(Count(answers: 2, rejections: 2), of: [-7, 7], at: 0)
        #expect(watch.endProbe() == .bad)
    }

    @Test("The pause between probes doubles, up to a quarter of an hour")
    func pauses() {
        #expect(
            (0...6).map { AnswerWatch.pause(afterProbes: $0).components.seconds } == [60, 120, 240, 480, 900, 900, 900]
        )
        #expect(AnswerWatch.pause(afterProbes: 1_000) == .seconds(900))
        #expect(
            (1...8).map { AnswerWatch.pause(afterUnclearProbes: $0).components.seconds }
                == [60, 60, 60, 120, 240, 480, 900, 900]
        )
    }
}
