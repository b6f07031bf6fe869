Feature: Telling whether the service is well

  Scenario: A service that runs is alive
    When "/health/live" is read
    Then the answer is 200
    And the answer says:
      | status | UP |

  Scenario: A service that can do its work is ready
    When "/health/ready" is read
    Then the answer is 200
    And the answer says:
      | status | UP |
    And the checks are all "UP"

  @own
  Scenario: A service whose location API is down is not ready
    Given the service asks a location API
    When "/health/ready" is read
    Then the answer is 200
    When the location API goes down
    And "/health/ready" is read until the answer is 503
    Then the answer says:
      | status | DOWN |
    And the check "locationApi" is "DOWN"
    And the check "eventRepository" is "UP"
    When "/health/live" is read
    Then the answer is 200

  Scenario: A service that has started says so
    When "/health/started" is read
    Then the answer is 200
    And the answer says:
      | status | UP |
