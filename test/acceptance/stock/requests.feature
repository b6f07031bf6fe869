Feature: Saying the same thing twice
  Every write carries an id of the client's choice. The same request under the same id happens once,
  however often it is sent; another request under that id is refused.

  Background:
    Given these places:
      | place | inside | tracked |
      | depot |        | yes     |
      | shop  |        | yes     |

  @own
  Scenario: A failure is not remembered
    Given the service asks a location API with:
      | attempts | 1 |
      | failures | 5 |
    And these places:
      | place | inside | tracked |
      | depot |        | yes     |
    And the location API fails 1 time
    When 10 "beans" are delivered to "depot"
    Then the answer is 502 "UpstreamServiceUnavailable"
    When the same request is sent again
    Then the answer is 201
    And the answer is not a replay
    And the level of "beans" at "depot" is 10

  Scenario: A success is repeated to the letter
    When 10 "beans" are delivered to "depot"
    And the same request is sent again
    Then both answers are the same to the letter
    And the answer is a replay
    And the level of "beans" at "depot" is 10

  Scenario: A refusal is the same each time
    When a sale of "beans" at "depot" is sent:
      """
      { "requestId": "sale", "soldAt": "2024-12-13T12:00:00Z" }
      """
    And the same request is sent again
    Then the answer is 400
    And both answers are the same but for their traces

  Scenario: A refusal that depends on the stock is not remembered
    Given "depot" holds 1 "beans"
    When 5 "beans" are moved from "depot" to "shop" at 12:00
    Then the answer is 400 "InsufficientStock"
    When 10 "beans" are delivered to "depot" at 11:00
    And the first request is sent again
    Then the answer is 201
    And the level of "beans" at "shop" is 5

  Scenario: The same request under the same id happens once
    When 10 "beans" are delivered to "depot" at 09:00 as request "one"
    And 10 "beans" are delivered to "depot" at 09:00 as request "one"
    Then the answer is 201
    And the answer is a replay
    And the level of "beans" at "depot" is 10

  Scenario: The same id with another quantity is refused
    When 10 "beans" are delivered to "depot" at 09:00 as request "one"
    And 11 "beans" are delivered to "depot" at 09:00 as request "one"
    Then the answer is 409 "IdempotencyContentMismatch"
    And the journal has not grown
    And the level of "beans" at "depot" is 10

  Scenario: The same id with another time is refused
    When 10 "beans" are delivered to "depot" at 09:00 as request "one"
    And 10 "beans" are delivered to "depot" at 09:01 as request "one"
    Then the answer is 409 "IdempotencyContentMismatch"
    And the level of "beans" at "depot" is 10

  Scenario: The same content under two ids happens twice
    When 10 "beans" are delivered to "depot" at 09:00 as request "one"
    And 10 "beans" are delivered to "depot" at 09:00 as request "two"
    Then the answer is 201
    And the answer is not a replay
    And the level of "beans" at "depot" is 20

  Scenario: The same id at another place is another request
    When 1 "beans" is sold at "depot" at 09:00 as request "one"
    And 1 "beans" is sold at "shop" at 09:00 as request "one"
    Then the answer is 409 "IdempotencyContentMismatch"
    And the level of "beans" at "shop" is 0 with 0 pending

  Scenario: The same moment written in another way is the same request
    When a sale of "beans" at "depot" is sent:
      """
      { "requestId": "one", "quantity": 1.50, "soldAt": "2024-12-13T12:00:00+02:00" }
      """
    And a sale of "beans" at "depot" is sent:
      """
      { "soldAt": "2024-12-13T10:00:00.000Z", "quantity": "1.5", "requestId": "one" }
      """
    Then the answer is 201
    And the answer is a replay

  Scenario: New requests and repeated ones are counted
    Given the counters of requests are noted
    When 10 "beans" are delivered to "depot"
    Then the counter "idempotency_domain_misses" has grown by 1
    And the counter "idempotency_domain_hits" has grown by 0
    When the same request is sent again
    Then the counter "idempotency_domain_misses" has grown by 1
    And the counter "idempotency_domain_hits" has grown by 1

  Scenario: A count that is learned late does not turn a repeated sale into a second one
    Given 100 "beans" are delivered to "depot" at 09:00
    When 10 "beans" are sold at "depot" at 10:00 as request "sale"
    Then the level of "beans" at "depot" is 90
    When "beans" at "depot" are counted as 70 at 09:55
    And the request "sale" is sent again
    Then the answer is 201
    And the answer is a replay
    And the level of "beans" at "depot" is 60

  Scenario: A sale that is learned late does not turn a repeated move into a second one
    Given 100 "beans" are delivered to "depot" at 09:00
    When 50 "beans" are moved from "depot" to "shop" at 10:00 as request "move"
    And 1 "beans" is sold at "shop" at 09:55
    And the request "move" is sent again
    Then the answer is 201
    And the answer is a replay
    And the level of "beans" at "depot" is 50
    And the level of "beans" at "shop" is 50 with -1 pending

  Scenario: What became of a request can be asked
    When 10 "beans" are delivered to "depot" as request "one"
    And the fate of request "one" is read
    Then the answer is 200
    When the fate of request "never" is read
    Then the answer is 404
