import APITypes
import ActivityModel
import DeliveryStore
import JSON

extension KeptStart {
    /// Passes if the request is the very start that was accepted.
    ///
    /// - Throws: 409 `attributes_conflict` or `activity_exists`.
    func judgeReplay(_ request: StartRequest) throws(Problem) {
        switch record.judge(StartRecord(body: request.json.object ?? JSONObject()), in: state) {
        case .replay: return
        case .refuseAttributesConflict: throw .attributesConflict()
        case .refuseActivityExists: throw .activityExists()
        }
    }
}
