Feature: Goods move from one place to another
  A move takes from one place and adds to another in one step that nothing can come between.

  Background:
    Given these places:
      | place   | inside | tracked |
      | depot   |        | yes     |
      | bay     | depot  | no      |
      | shop    |        | yes     |
      | hallway |        | no      |

  Scenario: A move is answered with what was recorded
    Given "depot" holds 10 "beans"
    When a move of "beans" out of "depot" is sent:
      """
      { "requestId": "move", "destinationLocationId": "shop", "quantity": 5, "reason": "replenishment", "movedAt": "2024-12-13T12:00:00Z" }
      """
    Then the answer is 201
    And the answer says:
      | requestId             | request move         |
      | sourceLocationId      | place depot          |
      | destinationLocationId | place shop           |
      | productId             | product beans        |
      | quantity              | 5                    |
      | reason                | replenishment        |
      | movedAt               | 2024-12-13T12:00:00Z |

  Scenario: Either spelling of the path is the same move
    Given "depot" holds 10 "beans"
    When 5 "beans" are moved from "depot" to "shop" as request "move"
    And the same request is sent again by the other path
    Then the answer is 201
    And the answer is a replay
    And the level of "beans" at "shop" is 5

  Scenario: The reason of a move may be spelled in capitals
    Given "depot" holds 10 "beans"
    When a move of "beans" out of "depot" is sent:
      """
      { "requestId": "move", "destinationLocationId": "shop", "quantity": 5, "reason": "Replenishment", "movedAt": "2024-12-13T12:00:00Z" }
      """
    Then the answer is 201
    And the answer says:
      | reason | replenishment |

  Scenario: Nothing moves out of a place that is not known
    When 5 "beans" are moved from "nowhere" to "shop"
    Then the answer is 404 "LocationNotFound"

  Scenario: Nothing moves into a place that is not known
    Given "depot" holds 10 "beans"
    When 5 "beans" are moved from "depot" to "nowhere"
    Then the answer is 404 "LocationNotFound"
    And the level of "beans" at "depot" is 10

  Scenario Outline: A move without <field> is refused
    When a move of "beans" out of "depot" is sent without "<field>":
      """
      { "requestId": "move", "destinationLocationId": "shop", "quantity": 5, "reason": "replenishment", "movedAt": "2024-12-13T12:00:00Z" }
      """
    Then the answer is 400
    And the missing fields are "<field>"
    And the journal has not grown

    Examples:
      | field                 |
      | requestId             |
      | destinationLocationId |
      | quantity              |
      | reason                |
      | movedAt               |

  Scenario: A move at a time that is no time is refused
    When a move of "beans" out of "depot" is sent:
      """
      { "requestId": "move", "destinationLocationId": "shop", "quantity": 5, "reason": "replenishment", "movedAt": "2024-13-45" }
      """
    Then the answer is 400
    And the invalid values are "movedAt"

  Scenario: All that a move lacks is named at once, in order
    When a move of "beans" out of "depot" is sent:
      """
      { "quantity": 5 }
      """
    Then the answer is 400
    And the missing fields are "requestId, destinationLocationId, reason, movedAt"

  Scenario: A move of less than nothing is refused
    Given "depot" holds 10 "beans"
    When a move of "beans" out of "depot" is sent:
      """
      { "requestId": "move", "destinationLocationId": "shop", "quantity": -5, "reason": "replenishment", "movedAt": "2024-12-13T12:00:00Z" }
      """
    Then the answer is 400
    And the invalid values are "quantity"
    And the level of "beans" at "depot" is 10

  @jwt
  Scenario: Whoever may only read moves nothing
    Given the service checks tokens
    And these places:
      | place | inside | tracked |
      | depot |        | yes     |
      | shop  |        | yes     |
    And I carry a token of the job "Regional Stock Auditor"
    When 5 "beans" are moved from "depot" to "shop"
    Then the answer is 403 "PermissionDenied"

  Scenario: A move out of an untracked place is sent on to the tracked place around it
    When 5 "beans" are moved from "bay" to "shop"
    Then the answer is 303 "LocationNotTracked"
    And the answer points to the same request at "depot"

  Scenario: A move into an untracked place is refused
    Given "depot" holds 10 "beans"
    When 5 "beans" are moved from "depot" to "hallway"
    Then the answer is 400 "LocationNotTracked"
    And the level of "beans" at "depot" is 10

  Scenario: A move that is sent twice happens once
    Given "depot" holds 10 "beans"
    When 4 "beans" are moved from "depot" to "shop"
    And the same request is sent again
    Then the answer is 201
    And the answer is a replay
    And the level of "beans" at "depot" is 6
    And the level of "beans" at "shop" is 4

  Scenario: What one place gives the other one has
    Given "depot" holds 100 "beans"
    And "shop" holds 20 "beans"
    When 30 "beans" are moved from "depot" to "shop"
    Then the answer is 201
    And the level of "beans" at "depot" is 70
    And the level of "beans" at "shop" is 50

  Scenario: More than there is does not move, and nothing changes at either end
    Given "depot" holds 10 "beans"
    And "shop" holds 20 "beans"
    When 30 "beans" are moved from "depot" to "shop"
    Then the answer is 400 "InsufficientStock"
    And the journal has not grown
    And the level of "beans" at "depot" is 10
    And the level of "beans" at "shop" is 20

  Scenario: Nothing moves to where it is
    Given "depot" holds 10 "beans"
    When 5 "beans" are moved from "depot" to "depot"
    Then the answer is 400 "SameLocation"
    And the level of "beans" at "depot" is 10

  Scenario: The two ends of a move know of each other
    Given "depot" holds 10 "beans"
    When 5 "beans" are moved from "depot" to "shop" as request "move"
    Then the histories of "beans" at "depot" and at "shop" share the request "move"

  Scenario: A fact learned late never makes a level negative
    Given 10 "beans" are delivered to "depot" at 09:00
    When 8 "beans" are moved from "depot" to "shop" at 11:00
    And 5 "beans" are sold at "depot" at 10:00
    Then the level of "beans" at "depot" is 0 with -3 pending
    And the level of "beans" at "shop" is 8
