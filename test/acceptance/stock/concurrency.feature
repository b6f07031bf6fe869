Feature: Many at once
  Every pot is its own; what happens to one waits for nothing but that pot.

  Background:
    Given these places:
      | place | inside | tracked |
      | depot |        | yes     |
      | shop  |        | yes     |
      | kiosk |        | yes     |

  Scenario: Different pots are written at the same time
    When 200 deliveries of 1 "beans" are sent at once, spread over "depot", "shop", "kiosk"
    Then every answer is 201
    And the levels of "beans" at "depot", "shop", "kiosk" add up to 200

  Scenario: One pot is written by many, one after the other
    When 200 deliveries of 1 "beans" are sent at once, spread over "depot"
    Then every answer is 201
    And the level of "beans" at "depot" is 200
    And the history of "beans" at "depot" rises from 1 to 200 without a gap

  Scenario: The last piece moves to one place only
    Given "depot" holds 1 "beans"
    When 20 moves of 1 "beans" from "depot" to "shop" are sent at once
    Then 1 answer is 201 and 19 are 400 "InsufficientStock"
    And the level of "beans" at "depot" is 0
    And the level of "beans" at "shop" is 1

  @real-time
  Scenario: Moves in opposite directions do not wait for each other
    Given "depot" holds 500 "beans"
    And "shop" holds 500 "beans"
    When 100 moves of 1 "beans" from "depot" to "shop" and 100 back are sent at once
    Then every answer is 201 within 10 s
    And the level of "beans" at "depot" is 500
    And the level of "beans" at "shop" is 500

  Scenario: One request that many send at once happens once
    When 50 copies of one delivery of 7 "beans" to "depot" are sent at once
    Then every answer is 201
    And all answers are the same to the letter
    And the level of "beans" at "depot" is 7

  Scenario: Of two writers who saw the same level one is told
    Given "depot" holds 10 "beans"
    When two sales of 1 "beans" at "depot" are sent at once on the same version
    Then 1 answer is 201 and 1 is 412 "VersionMismatch"
    And the level of "beans" at "depot" is 9
