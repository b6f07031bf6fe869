Feature: Goods are sold
  A sale is a fact. It is recorded whatever the books say.

  Background:
    Given these places:
      | place   | inside | tracked |
      | shop    |        | yes     |
      | till    | shop   | no      |
      | hallway |        | no      |

  Scenario: A sale is answered with what was recorded
    Given "shop" holds 10 "beans"
    When a sale of "beans" at "shop" is sent:
      """
      { "requestId": "sale", "quantity": 2, "soldAt": "2024-12-13T12:00:00Z" }
      """
    Then the answer is 201
    And the answer says:
      | requestId    | request sale         |
      | locationId   | place shop           |
      | productId    | product beans        |
      | quantitySold | 2                    |
      | quantity     | nothing              |
      | soldAt       | 2024-12-13T12:00:00Z |

  Scenario: Nothing is sold at a place that is not known
    When 1 "beans" is sold at "nowhere"
    Then the answer is 404 "LocationNotFound"

  Scenario Outline: A sale without <field> is refused
    When a sale of "beans" at "shop" is sent without "<field>":
      """
      { "requestId": "sale", "quantity": 2, "soldAt": "2024-12-13T12:00:00Z" }
      """
    Then the answer is 400
    And the missing fields are "<field>"
    And the journal has not grown

    Examples:
      | field     |
      | requestId |
      | quantity  |
      | soldAt    |

  Scenario: A sale at a time that is no time is refused
    When a sale of "beans" at "shop" is sent:
      """
      { "requestId": "sale", "quantity": 2, "soldAt": "2024-12-32T12:00:00Z" }
      """
    Then the answer is 400
    And the invalid values are "soldAt"

  Scenario: A sale that is sent twice happens once
    Given "shop" holds 10 "beans"
    When 2 "beans" are sold at "shop"
    And the same request is sent again
    Then the answer is 201
    And the answer is a replay
    And the level of "beans" at "shop" is 8

  Scenario: More than there is can be sold, and the shortfall is remembered
    Given "shop" holds 3 "beans"
    When 5 "beans" are sold at "shop"
    Then the answer is 201
    And the level of "beans" at "shop" is 0 with -2 pending

  @own
  Scenario: Where more than there is may not be sold, it is refused
    Given the service runs with:
      | stock.oversell | refuse |
    And these places:
      | place | inside | tracked |
      | shop  |        | yes     |
    And "shop" holds 3 "beans"
    When 5 "beans" are sold at "shop"
    Then the answer is 400 "InsufficientStock"
    And the level of "beans" at "shop" is 3

  Scenario: A sale at an untracked place is sent on to the tracked place around it
    When 1 "beans" is sold at "till"
    Then the answer is 303 "LocationNotTracked"
    And the answer points to the same request at "shop"

  Scenario: A sale at an untracked place with nothing tracked around it is refused
    When 1 "beans" is sold at "hallway"
    Then the answer is 400 "LocationNotTracked"

  Scenario: Things are sold one by one
    Given "shop" holds 10 "cans"
    When 3 "cans" are sold at "shop"
    Then the level of "cans" at "shop" is 7

  Scenario: Things are sold by weight
    Given "shop" holds 25.75 "apples"
    When 0.456 "apples" are sold at "shop"
    Then the level of "apples" at "shop" is 25.294

  Scenario Outline: A sale where <place> is <kind> is answered with <status>
    When 1 "beans" is sold at "<place>"
    Then the answer is <status>

    Examples:
      | place   | kind      | status |
      | hallway | untracked | 400    |
      | shop    | tracked   | 201    |

  Scenario: A sale with a zone in its time is at that moment
    Given 10 "beans" are delivered to "shop" at 09:00
    When a sale of "beans" at "shop" is sent:
      """
      { "requestId": "sale", "quantity": 4, "soldAt": "2024-12-13T12:00:00+05:00" }
      """
    Then the answer is 201
    And the answer says:
      | soldAt | 2024-12-13T07:00:00Z |
    And the level of "beans" at "shop" is 10 with -4 pending
