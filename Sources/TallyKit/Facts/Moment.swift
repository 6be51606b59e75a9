/// Seconds since 1970 by the phone's clock. It may be wrong, and it may jump.
package typealias Moment = Double
