Feature: A pot leaves memory and comes back
  A pot that nobody needs is put away after a while. Nobody who asks for it can tell.

  @own @real-time
  Scenario: A pot stays for as long as it is told to, and is gone afterwards
    Given the service runs with:
      | stockPot.unloadAfterInactivity | 400ms |
      | stockPot.unloadCheckInterval   | 50ms  |
    And these places:
      | place | inside | tracked |
      | depot |        | yes     |
    When 10 "beans" are delivered to "depot"
    Then the pot of "beans" at "depot" is in memory for at least 300 ms
    And the pot of "beans" at "depot" leaves memory within 5 s
    When 5 "beans" are delivered to "depot"
    Then the answer is 201
    And the level of "beans" at "depot" is 15

  Scenario: A pot comes into being with its first request, not before
    Given these places:
      | place | inside | tracked |
      | depot |        | yes     |
    When the level of "beans" at "depot" is read
    Then the answer is 200
    And the pot of "beans" at "depot" is not in memory
    When 1 "beans" is delivered to "depot"
    Then the pot of "beans" at "depot" is in memory

  Scenario: A pot that was put away remembers everything
    Given these places:
      | place | inside | tracked |
      | depot |        | yes     |
    When 10 "beans" are delivered to "depot" at 09:00 as request "first"
    And 14 "beans" are sold at "depot" at 10:00
    And the pot of "beans" at "depot" is put away
    Then the pot of "beans" at "depot" is not in memory
    And the level of "beans" at "depot" is 0 with -4 pending
    When 8 "beans" are delivered to "depot" at 09:30
    Then the level of "beans" at "depot" is 4 with 0 pending
    When the request "first" is sent again
    Then the answer is 201
    And the answer is a replay
    And the level of "beans" at "depot" is 4 with 0 pending

  @own
  Scenario: Traffic does not notice that pots come and go
    Given the service runs with:
      | stockPot.unloadAfterInactivity | 20ms |
      | stockPot.unloadCheckInterval   | 10ms |
    And these places:
      | place | inside | tracked |
      | depot |        | yes     |
      | shop  |        | yes     |
    And "depot" holds 1000 "beans"
    When 4 clients each move 1 "beans" 5 times from "depot" to "shop", 8 times over, each time when the pots are away
    Then every answer is 201
    And pots were put away at least 8 times
    And the level of "beans" at "depot" is 840
    And the level of "beans" at "shop" is 160
