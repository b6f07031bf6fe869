Feature: From the supplier to the shelf
  Goods move between places, and places move too. What a place holds goes with it.

  Background:
    Given these places:
      | place     | inside | tracked |
      | centre    |        | yes     |
      | warehouse | centre | yes     |
      | bay       | warehouse | yes  |
      | receiving | centre | yes     |
      | dispatch  | centre | yes     |
      | cage      | receiving | yes  |
      | truck     |        | yes     |
      | shop      |        | yes     |

  Scenario: What is delivered at the gate is put away in a bay
    Given "bay" holds 50 "beans"
    When 400 "beans" are delivered to "receiving"
    And 400 "beans" are moved from "receiving" to "bay"
    Then the level of "beans" at "bay" is 450
    And the level of "beans" at "receiving" is 0
    And the total of "beans" at "centre" is 450

  Scenario: What is picked into a cage travels with the cage
    Given "bay" holds 450 "beans"
    When 50 "beans" are moved from "bay" to "cage"
    Then the total of "beans" at "receiving" is 50
    When the place "cage" moves into "dispatch"
    Then the total of "beans" at "receiving" is 0
    And the total of "beans" at "dispatch" is 50
    And the total of "beans" at "centre" is 450
    When the place "cage" moves into "truck"
    Then the total of "beans" at "centre" is 400
    And the total of "beans" at "truck" is 50
    When the place "truck" moves into "shop"
    Then the total of "beans" at "shop" is 50
    When the place "cage" moves into "shop"
    And 50 "beans" are moved from "cage" to "shop"
    Then the level of "beans" at "bay" is 400
    And the level of "beans" at "cage" is 0
    And the level of "beans" at "shop" is 50
    And the total of "beans" at "shop" is 50
    And the total of "beans" at "truck" is 0
