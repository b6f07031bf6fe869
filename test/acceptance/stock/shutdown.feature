@restarts
Feature: Stopping and starting
  A service that is asked to stop finishes what it has begun. Whatever it confirmed is there when it
  starts again, even if it was given no time at all.

  Background:
    Given these places:
      | place | inside | tracked |
      | depot |        | yes     |
      | shop  |        | yes     |

  Scenario: What was confirmed survives a restart
    Given 10 "beans" are delivered to "depot" as request "arrival"
    And 4 "beans" are moved from "depot" to "shop"
    When the service is stopped and started again
    Then the level of "beans" at "depot" is 6
    And the level of "beans" at "shop" is 4
    When the request "arrival" is sent again
    Then the answer is 201
    And the answer is a replay
    And the level of "beans" at "depot" is 6

  Scenario: What was confirmed survives a kill
    When deliveries of 1 "beans" to "depot" are sent by 8 clients until the service is killed
    And the service is started again
    Then every confirmed delivery of "beans" to "depot" is there, and none twice
    When every delivery without an answer is sent again
    Then every delivery of "beans" to "depot" is there, and none twice

  @own @real-time
  Scenario: A service that stops finishes what it has begun, and is gone in time
    When deliveries of 1 "beans" to "depot" are sent by 8 clients until the service is stopped
    Then the service has ended with 0 within 6 s
    And no answer is a failure but 503 "ShuttingDown"
    When the service is started again
    Then every confirmed delivery of "beans" to "depot" is there, and none twice

  @own @real-time
  Scenario: A second signal ends the service at once
    Given a client holds a request open
    When the service is told to stop twice
    Then the service has ended within 3 s
    When the service is started again
    Then "/health/ready" answers 200

  Scenario: Places are remembered too
    When the service is stopped and started again
    Then the level of "beans" at "depot" is 0
    When 1 "beans" is delivered to "depot"
    Then the answer is 201

  Scenario: Two services run beside each other without knowing
    Given "depot" holds 10 "beans"
    When a second service is started on a directory of its own
    Then the second service knows nothing of "depot"
