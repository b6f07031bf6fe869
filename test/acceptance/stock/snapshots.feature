@restarts
Feature: Starting again from what was kept
  A pot that is needed again does not have to live through its whole past.

  Background:
    Given these places:
      | place | inside | tracked |
      | depot |        | yes     |
      | shop  |        | yes     |

  Scenario: A service that starts again finds its levels without the whole past
    Given "depot" receives 1 "beans" 230 times
    And "shop" receives 1 "peas" 30 times
    When the service is stopped and started again
    And 5 "beans" are sold at "depot"
    And 1 "peas" is sold at "shop"
    Then the level of "beans" at "depot" is 225
    And the level of "peas" at "shop" is 29
    And the pot of "beans" at "depot" was brought back with at most 100 facts

  Scenario: A pot that was put away comes back without its whole past
    Given "depot" receives 1 "beans" 230 times
    When the pot of "beans" at "depot" is put away
    And 5 "beans" are sold at "depot"
    Then the level of "beans" at "depot" is 225
    And the pot of "beans" at "depot" was brought back with at most 100 facts

  @own
  Scenario: A service without a past starts with nothing
    When the service is stopped and started again
    Then the level of "beans" at "depot" is 0 with 0 pending
    And the level of "peas" at "shop" is 0 with 0 pending

  Scenario: A kept state is that of its moment, and the level is that of now
    Given 100 "beans" are delivered to "depot"
    When these happen to "beans" at "depot":
      | delivery | 50 |
      | sale     | 20 |
      | delivery | 30 |
      | sale     | 10 |
      | delivery | 25 |
      | sale     | 5  |
      | delivery | 15 |
      | sale     | 8  |
      | delivery | 12 |
      | sale     | 3  |
      | sale     | 1  |
    Then after fact 6 the history of "beans" at "depot" has 175
    And after fact 11 the history of "beans" at "depot" has 186
    And the level of "beans" at "depot" is 185
    When the service is stopped and started again
    And the pot of "beans" at "depot" is woken by a sale of 1
    Then the level of "beans" at "depot" is 184

  Scenario: A shortfall is kept as well
    Given 25 "beans" are sold at "depot" at 08:00
    And "depot" receives 1 "beans" 200 times
    And 10 "peas" are sold at "shop" at 08:00
    And "shop" receives 5 "peas" 10 times
    When the service is stopped and started again
    And the pot of "beans" at "depot" is woken by a sale of 1
    And the pot of "peas" at "shop" is woken by a sale of 1
    Then the level of "beans" at "depot" is 199 with -25 pending
    And the level of "peas" at "shop" is 49 with -10 pending

  Scenario: What happened after the kept state is added to it
    Given "depot" receives 1 "beans" 100 times
    When 10 "beans" are sold at "depot"
    And 5 "beans" are delivered to "depot"
    And the service is stopped and started again
    Then the level of "beans" at "depot" is 95
    When 1 "beans" is sold at "depot"
    Then the level of "beans" at "depot" is 94
