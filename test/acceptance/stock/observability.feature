@logged
Feature: Following a request through the log
  Whatever a request causes is found again by the id of its trace.

  Background:
    Given these places:
      | place | inside | tracked |
      | depot |        | yes     |
      | shop  |        | yes     |

  Scenario: A trace is taken up and not sent back
    Given I send the trace "0af7651916cd43dd8448eb211c80319c"
    When "/health/live" is read
    Then the answer is 200
    And the answer has no header "traceparent"

  Scenario: The lines of the handler carry the trace
    Given I send a trace of my own
    When 1 "beans" is sold at "depot"
    Then the answer is 201
    And the log of the handler carries my trace

  @own
  Scenario: Requests to other services carry the trace
    Given the service asks a location API
    And these places:
      | place | inside | tracked |
      | depot |        | yes     |
    And I send a trace of my own
    When the level of "beans" at "depot" is read
    Then the answer is 200
    And the location API was sent my trace

  Scenario: The lines of the pot carry the trace of a delivery
    Given I send a trace of my own
    When 10 "beans" are delivered to "depot"
    Then the answer is 201
    And the log of the pot of "beans" at "depot" carries my trace

  Scenario: The lines of the pot carry the trace of a sale
    Given I send a trace of my own
    When 1 "beans" is sold at "depot"
    Then the answer is 201
    And the log of the pot of "beans" at "depot" carries my trace

  Scenario: The lines of the pot carry the trace of a count
    Given I send a trace of my own
    When "beans" at "depot" are counted as 5
    Then the answer is 201
    And the log of the pot of "beans" at "depot" carries my trace

  Scenario: The lines of the pot carry the trace of a move
    Given "depot" holds 5 "beans"
    And I send a trace of my own
    When 3 "beans" are moved from "depot" to "shop"
    Then the answer is 201
    And the log of the pot of "beans" at "depot" carries my trace

  Scenario: One closing line says that a request is done and how it ended
    Given I send a trace of my own
    When "beans" at "depot" are counted as 5
    Then the answer is 201
    And one line of the log closes my trace with 201

  Scenario: The trace is a field of its own in every line of a request
    Given I send no trace
    When "/health/started" is read
    Then the answer is 200
    And a line of the log has a trace of 32 hexadecimal digits

  Scenario: The lines of a request carry a span beside the trace
    Given I send a trace of my own
    When 1 "beans" is sold at "depot"
    Then the answer is 201
    And the log of my trace carries a span that is not the one I sent
