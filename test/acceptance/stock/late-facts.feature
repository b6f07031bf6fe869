Feature: Facts that are learned late
  The floor is always right: what was sold was there. What the books cannot explain is kept as a
  shortfall, and a fact that happened earlier and is learned later may explain it.

  Background:
    Given these places:
      | place | inside | tracked |
      | shop  |        | yes     |

  Scenario: A delivery that came after the sale explains nothing
    When 1 "beans" is sold at "shop" at 12:00
    Then the level of "beans" at "shop" is 0 with -1 pending
    When 10 "beans" are delivered to "shop" at 13:00
    Then the level of "beans" at "shop" is 10 with -1 pending

  Scenario: A delivery that came before the sale explains it, though it is learned later
    When 1 "beans" is sold at "shop" at 12:00
    And 10 "beans" are delivered to "shop" at 11:00
    Then the level of "beans" at "shop" is 9 with 0 pending

  Scenario: Only the shortfalls after a late fact are explained
    When 5 "beans" are sold at "shop" at 11:00
    And 1 "beans" is sold at "shop" at 12:00
    Then the level of "beans" at "shop" is 0 with -6 pending
    When 10 "beans" are delivered to "shop" at 11:30
    Then the level of "beans" at "shop" is 9 with -5 pending

  Scenario: A late fact is still there after the pot was away
    When 50 "beans" are delivered to "shop" at 10:00
    And the pot of "beans" at "shop" is put away
    And 7 "beans" are delivered to "shop" at 09:00
    Then the level of "beans" at "shop" is 57
    When the pot of "beans" at "shop" is put away
    And 1 "beans" is sold at "shop" at 11:00
    Then the level of "beans" at "shop" is 56

  Scenario: A fact from the future is refused
    When 1 "beans" is sold at "shop" a day from now
    Then the answer is 400
    And the invalid values are "soldAt"
    And the journal has not grown
