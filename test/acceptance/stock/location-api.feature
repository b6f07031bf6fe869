@own
Feature: Places that another service knows
  The tree of places may belong to another service. It is asked no more often than it wishes, asked
  again when it stumbles, and left alone when it is down.

  Scenario: A place that may be kept is asked for once, another one each time
    Given the service asks a location API
    And these places:
      | place | inside | tracked | cache-control |
      | depot |        | yes     | max-age=60    |
      | shop  |        | yes     | no-cache      |
    When the level of "beans" at "depot" is read 3 times
    And the level of "beans" at "shop" is read 3 times
    Then the location API was asked for "depot" once
    And the location API was asked for "shop" at least 3 times

  Scenario: An upstream that stumbles twice is asked a third time
    Given the service asks a location API with:
      | attempts | 3    |
      | delay    | 20ms |
    And these places:
      | place | inside | tracked |
      | shop  |        | yes     |
    And the location API fails 2 times
    When 2 "beans" are delivered to "shop"
    Then the answer is 201
    And the location API was asked 3 times before the answer

  Scenario: After the last attempt the client is told
    Given the service asks a location API with:
      | attempts | 3    |
      | delay    | 20ms |
    And these places:
      | place | inside | tracked |
      | shop  |        | yes     |
    And the location API fails always
    When 2 "beans" are delivered to "shop"
    Then the answer is 502 "UpstreamServiceUnavailable"
    And the location API was asked 3 times before the answer
    And the journal has not grown

  Scenario: An upstream that keeps failing is left alone
    Given the service asks a location API with:
      | attempts | 1   |
      | failures | 3   |
      | quiet    | 60s |
    And these places:
      | place | inside | tracked |
      | shop  |        | yes     |
    And the location API fails always
    When the level of "beans" at "shop" is read 3 times
    Then every answer is 502 "UpstreamServiceUnavailable"
    When the location API is well again
    And the level of "beans" at "shop" is read 4 times
    Then every answer is 502 "UpstreamServiceUnavailable"
    And the location API was asked 3 times in all
    And the service is told in the log that the location API is left alone

  @real-time
  Scenario: After the quiet time one trial decides
    Given the service asks a location API with:
      | attempts | 1     |
      | failures | 2     |
      | quiet    | 300ms |
    And these places:
      | place | inside | tracked | cache-control |
      | shop  |        | yes     | no-cache      |
    And the location API fails 2 times
    When the level of "beans" at "shop" is read 2 times
    Then every answer is 502 "UpstreamServiceUnavailable"
    When the level of "beans" at "shop" is read until the answer is 200
    Then the location API was asked 3 times before the first 200
    When the level of "beans" at "shop" is read 3 times
    Then every answer is 200

  @real-time
  Scenario: Each pause is longer than the one before it
    Given the service asks a location API with:
      | attempts | 4     |
      | delay    | 100ms |
    And these places:
      | place | inside | tracked |
      | shop  |        | yes     |
    And the location API fails 3 times
    When the level of "beans" at "shop" is read
    Then the answer is 200
    And the pauses before the location API was asked again were at most 100, 200, 400 ms

  @real-time
  Scenario: An upstream that does not answer in time is asked again, and has failed each time
    Given the service asks a location API with:
      | attempts | 3     |
      | failures | 3     |
      | delay    | 20ms  |
      | timeout  | 150ms |
      | quiet    | 60s   |
    And these places:
      | place | inside | tracked | cache-control |
      | shop  |        | yes     | no-cache      |
    And the location API is silent 2 times
    When the level of "beans" at "shop" is read
    Then the answer is 200
    And the location API was asked 3 times before the answer
    Given the location API is silent 3 times
    When the level of "beans" at "shop" is read 2 times
    Then every answer is 502 "UpstreamServiceUnavailable"
    And the location API was asked 6 times in all

  Scenario: Requests that have nothing to do with each other add up to the same limit
    Given the service asks a location API with:
      | attempts | 1   |
      | failures | 3   |
      | quiet    | 60s |
    And these places:
      | place | inside | tracked |
      | shop  |        | yes     |
      | depot |        | yes     |
    And the location API fails always
    When the level of "beans" at "shop" is read
    And the level of "peas" at "depot" is read
    And 1 "corn" is sold at "shop"
    And the level of "beans" at "depot" is read
    And the level of "beans" at "shop" is read
    Then every answer is 502 "UpstreamServiceUnavailable"
    And the location API was asked 3 times in all
