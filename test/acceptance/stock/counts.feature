Feature: Counting what is there
  A count says how much of a product is at a place. It replaces what was thought before.

  Background:
    Given these places:
      | place   | inside | tracked |
      | depot   |        | yes     |
      | hallway |        | no      |

  Scenario: A count sets the level
    Given "depot" holds 100 "beans"
    When a count of "beans" at "depot" is sent:
      """
      { "requestId": "count", "reason": "AdminOverride", "quantity": 42.5, "countedAt": "2024-12-13T12:00:00Z" }
      """
    Then the answer is 201
    And the answer says:
      | requestId | request count        |
      | location  | place depot          |
      | productId | product beans        |
      | quantity  | 42.5                 |
      | reason    | AdminOverride        |
      | countedAt | 2024-12-13T12:00:00Z |
    And the level of "beans" at "depot" is 42.5

  Scenario: A count that is sent twice counts once
    When "beans" at "depot" are counted as 42 at 09:00 as request "count"
    And 2 "beans" are sold at "depot" at 10:00
    And the request "count" is sent again
    Then the answer is 201
    And the answer is a replay
    And the level of "beans" at "depot" is 40

  Scenario: Nothing can be counted at a place that is not known
    When "beans" at "nowhere" are counted as 5
    Then the answer is 404 "LocationNotFound"
    And the journal has not grown

  Scenario Outline: A count without <field> is refused
    When a count of "beans" at "depot" is sent without "<field>":
      """
      { "requestId": "count", "reason": "AdminOverride", "quantity": 5, "countedAt": "2024-12-13T12:00:00Z" }
      """
    Then the answer is 400
    And the missing fields are "<field>"
    And the journal has not grown

    Examples:
      | field     |
      | requestId |
      | reason    |
      | quantity  |
      | countedAt |

  Scenario: A count at a time that is no time is refused
    When a count of "beans" at "depot" is sent:
      """
      { "requestId": "count", "reason": "AdminOverride", "quantity": 5, "countedAt": "noon" }
      """
    Then the answer is 400
    And the invalid values are "countedAt"

  Scenario: A count for a reason that nobody knows is refused
    When a count of "beans" at "depot" is sent:
      """
      { "requestId": "count", "reason": "Whim", "quantity": 5, "countedAt": "2024-12-13T12:00:00Z" }
      """
    Then the answer is 400
    And the invalid values are "reason"

  Scenario: An override leaves the shortfall as it is, a stock take settles it
    When 4 "beans" are sold at "depot" at 09:00
    And "beans" at "depot" are counted as 10 at 10:00
    Then the level of "beans" at "depot" is 10 with -4 pending
    When a count of "beans" at "depot" is sent:
      """
      { "requestId": "take", "reason": "StockTake", "quantity": 9, "countedAt": "2024-12-13T11:00:00Z" }
      """
    Then the answer is 201
    And the level of "beans" at "depot" is 9 with 0 pending

  Scenario: What is not tracked cannot be counted
    When "beans" at "hallway" are counted as 5
    Then the answer is 400 "LocationNotTracked"
