/// Bodies that pass the request types, so that the route calls the service.
enum Bodies {
    static let app = #"{"team_id":"ABCDE12345","environments":{"production":{"key_id":"KEY1234567"}}}"#
    static let apiKey = #"{"name":"backend","scopes":["publish"]}"#
    static let type = #"{"attributes_schema":{"type":"object"},"content_state_schema":{"type":"object"}}"#
    static let validation = #"{"content_state":{}}"#
    static let device = #"{"environment":"production"}"#
    static let start = #"{"type":"GameAttributes","attributes":{},"content_state":{}}"#
    static let update = #"{"content_state":{}}"#
    static let audience = #"{"add":{"all_of_type":true}}"#
    static let subscription = #"{"channel":true}"#
    static let doctor = #"{"environment":"production"}"#
    static let empty = "{}"
}
