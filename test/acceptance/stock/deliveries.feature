Feature: Goods arrive
  A delivery brings one or more products to one place. It is recorded in whole or not at all.

  Background:
    Given these places:
      | place   | inside | tracked |
      | depot   |        | yes     |
      | bay     | depot  | no      |
      | hallway |        | no      |

  Scenario: A delivery of several products is answered with what was recorded
    When a delivery to "depot" is sent:
      """
      {
        "requestId": "arrival", "supplierId": "farm", "supplierRef": "van 7", "deliveredAt": "2024-12-13T12:00:00Z",
        "products": [ { "productId": "beans", "quantity": 10 }, { "productId": "peas", "quantity": 4.5 } ]
      }
      """
    Then the answer is 201
    And the answer says:
      | requestId             | request arrival      |
      | locationId            | place depot          |
      | supplierId            | farm                 |
      | supplierRef           | van 7                |
      | deliveredAt           | 2024-12-13T12:00:00Z |
      | products[0].productId | product beans        |
      | products[0].quantity  | 10                   |
      | products[1].productId | product peas         |
      | products[1].quantity  | 4.5                  |

  Scenario: Each product of a delivery is added to what was there
    Given "depot" holds 100 "beans"
    And "depot" holds 20 "peas"
    When a delivery to "depot" brings 10 "beans" and 5 "peas"
    Then the answer is 201
    And the level of "beans" at "depot" is 110
    And the level of "peas" at "depot" is 25

  Scenario: Parts of a unit are added without a rest
    Given "depot" holds 0.1 "flour"
    When 0.2 "flour" is delivered to "depot"
    Then the level of "flour" at "depot" is 0.3

  Scenario: The first delivery fills a pot that was never used
    When 10 "beans" are delivered to "depot"
    Then the answer is 201
    And the level of "beans" at "depot" is 10

  Scenario: A product that is named twice in one delivery is added up
    When a delivery to "depot" brings 10 "beans" and 5 "beans"
    Then the answer is 201
    And the level of "beans" at "depot" is 15

  Scenario: A delivery to an untracked place is sent on to the tracked place around it
    When 10 "beans" are delivered to "bay"
    Then the answer is 303 "LocationNotTracked"
    And the answer points to the same request at "depot"
    And the journal has not grown

  Scenario: A delivery to an untracked place with nothing tracked around it is refused
    When 10 "beans" are delivered to "hallway"
    Then the answer is 400 "LocationNotTracked"

  Scenario: A delivery that is sent twice arrives once
    When a delivery to "depot" brings 10 "beans" and 5 "peas"
    And the same request is sent again
    Then the answer is 201
    And the answer is a replay
    And the level of "beans" at "depot" is 10
    And the level of "peas" at "depot" is 5

  Scenario: A delivery whose lines are in another order is the same delivery
    When a delivery to "depot" brings 10 "beans" and 5 "peas" as request "arrival"
    And a delivery to "depot" brings 5 "peas" and 10 "beans" as request "arrival"
    Then the answer is 201
    And the level of "beans" at "depot" is 10
    And the level of "peas" at "depot" is 5

  Scenario: Nothing is delivered to a place that is not known
    When 10 "beans" are delivered to "nowhere"
    Then the answer is 404 "LocationNotFound"

  Scenario: All that a delivery lacks is named at once, in order
    When a delivery to "depot" is sent:
      """
      { "products": [ { "quantity": 1 }, { "productId": "peas" } ] }
      """
    Then the answer is 400
    And the missing fields are "requestId, supplierId, supplierRef, deliveredAt, products[0].productId, products[1].quantity"
    And the journal has not grown

  Scenario: A delivery at a time that is no time is refused
    When a delivery to "depot" is sent:
      """
      {
        "requestId": "arrival", "supplierId": "farm", "supplierRef": "van 7", "deliveredAt": "yesterday",
        "products": [ { "productId": "beans", "quantity": 10 } ]
      }
      """
    Then the answer is 400
    And the invalid values are "deliveredAt"

  Scenario: All that is wrong with a delivery is named at once
    When a delivery to "depot" is sent:
      """
      {
        "requestId": "arrival", "supplierId": "", "supplierRef": "van 7", "deliveredAt": "13/12/2024",
        "products": [ { "productId": "beans", "quantity": -1 }, { "productId": "", "quantity": "many" } ]
      }
      """
    Then the answer is 400
    And the invalid values are "supplierId, deliveredAt, products[0].quantity, products[1].productId, products[1].quantity"
    And the journal has not grown

  Scenario: A delivery of nothing is refused
    When a delivery to "depot" is sent:
      """
      {
        "requestId": "arrival", "supplierId": "farm", "supplierRef": "van 7", "deliveredAt": "2024-12-13T12:00:00Z",
        "products": []
      }
      """
    Then the answer is 400
    And the invalid values are "products"

  Scenario: One line that is wrong leaves every level as it was
    Given "depot" holds 100 "beans"
    And "depot" holds 20 "peas"
    When a delivery to "depot" brings 10 "beans" and -5 "peas"
    Then the answer is 400
    And the journal has not grown
    And the level of "beans" at "depot" is 100
    And the level of "peas" at "depot" is 20

  @own
  Scenario: A delivery whose store fails twice is there once after the third attempt
    Given these places:
      | place | inside | tracked |
      | depot |        | yes     |
    When a delivery of 10 "beans" and 5 "peas" to "depot" is sent 3 times while the service is killed under the first 2
    Then the answer is 201
    And the level of "beans" at "depot" is 10
    And the level of "peas" at "depot" is 5
    And the history of "beans" at "depot" has 1 entry
