@jwt
Feature: Who may do what
  A request shows a signed token. The token names a job, the policy says what a job may do, and a
  token may be good for some places only.

  Background:
    Given the service checks tokens
    And these places:
      | place | inside | tracked |
      | depot |        | yes     |
      | shop  |        | yes     |
      | kiosk | shop   | yes     |

  Scenario: A request without a token is refused
    Given I carry no token
    When 1 "beans" is sold at "shop"
    Then the answer is 401 "Unauthorized"

  Scenario: A token that somebody else signed is refused
    Given I carry a token of the job "Store Stock Controller" signed by somebody else
    When 1 "beans" is sold at "shop"
    Then the answer is 401 "Unauthorized"

  Scenario: A text that is no token is refused
    Given I carry the token "not.a.token"
    When 1 "beans" is sold at "shop"
    Then the answer is 401 "Unauthorized"

  Scenario: A token that has run out is refused
    Given I carry a token of the job "Store Stock Controller" that has run out
    When 1 "beans" is sold at "shop"
    Then the answer is 401 "Unauthorized"

  Scenario: A token made for another service is refused
    Given I carry a token of the job "Store Stock Controller" made for another service
    When 1 "beans" is sold at "shop"
    Then the answer is 401 "Unauthorized"

  Scenario: An auditor reads a level
    Given I carry a token of the job "Regional Stock Auditor"
    When the level of "beans" at "shop" is read
    Then the answer is 200

  Scenario: An auditor writes nothing
    Given I carry a token of the job "Regional Stock Auditor"
    When 1 "beans" is sold at "shop"
    Then the answer is 403 "PermissionDenied"
    And the journal has not grown

  Scenario: What one may not do is refused before the body is looked at
    Given I carry a token of the job "Regional Stock Auditor"
    When a sale of "beans" at "shop" is sent:
      """
      {}
      """
    Then the answer is 403 "PermissionDenied"

  Scenario: A stock controller records a sale
    Given I carry a token of the job "Store Stock Controller"
    When 1 "beans" is sold at "shop"
    Then the answer is 201

  Scenario Outline: <job> records a count: <status>
    Given I carry a token of the job "<job>"
    When "beans" at "shop" are counted as 5
    Then the answer is <status>

    Examples:
      | job                    | status |
      | Warehouse Manager      | 201    |
      | System Administrator   | 201    |
      | Regional Stock Auditor | 403    |

  Scenario: A token for one place is refused at another
    Given I carry a token of the job "Store Stock Controller" for "shop"
    When 1 "beans" is sold at "depot"
    Then the answer is 403 "PermissionDenied"

  Scenario: A token for one place is good at that place
    Given I carry a token of the job "Store Stock Controller" for "shop"
    When 1 "beans" is sold at "shop"
    Then the answer is 201

  Scenario: A token for one place does not push stock into another
    Given "shop" holds 10 "beans"
    And I carry a token of the job "Store Stock Controller" for "shop"
    When 4 "beans" are moved from "shop" to "depot"
    Then the answer is 403 "PermissionDenied"
    And the level of "beans" at "shop" is 10

  Scenario: A job that the policy does not name may do nothing
    Given I carry a token of the job "Night Watch"
    When the level of "beans" at "shop" is read
    Then the answer is 403 "PermissionDenied"

  @own
  Scenario: A policy file decides what a job may do
    Given the service checks tokens by this policy:
      | job         | permissions                            |
      | Night Watch | stock:level:read, stock:movement:write |
      | Guest       | stock:level:read                       |
    And these places:
      | place | inside | tracked |
      | shop  |        | yes     |
    And I carry a token of the job "Night Watch"
    When 1 "beans" is sold at "shop"
    Then the answer is 201
    Given I carry a token of the job "Guest"
    When 1 "beans" is sold at "shop"
    Then the answer is 403 "PermissionDenied"
    Given I carry a token of the job "Store Stock Controller"
    When 1 "beans" is sold at "shop"
    Then the answer is 403 "PermissionDenied"
