Feature: Reading how much is there
  A level is what a place holds itself, and what it holds together with everything inside it.

  Background:
    Given these places:
      | place   | inside | tracked |
      | region  |        | no      |
      | depot   | region | yes     |
      | hall    | depot  | yes     |
      | rack    | hall   | yes     |
      | yard    | depot  | yes     |
      | island  |        | no      |
      | lighthouse | island | no   |

  Scenario: A level with everything inside it
    Given "depot" holds 150.5 "beans" with -5 pending
    And "hall" holds 50 "beans" with -3 pending
    And "rack" holds 30 "beans"
    And "yard" holds 30.5 "beans" with -2 pending
    When the level of "beans" at "depot" is read
    Then the answer is 200
    And the answer says:
      | locationId        | place depot   |
      | productId         | product beans |
      | quantity          | 150.5         |
      | pendingAdjustment | -5            |
      | totalQuantity     | 261           |
    And inside "depot" the answer has "hall" with 50 of 80 and -3 pending
    And inside "hall" the answer has "rack" with 30 of 30 and 0 pending
    And inside "depot" the answer has "yard" with 30.5 of 30.5 and -2 pending

  Scenario: A level without what is inside it
    Given "depot" holds 10 "beans"
    And "hall" holds 5 "beans"
    When the level of "beans" at "depot" alone is read
    Then the answer is 200
    And the answer says:
      | locationId        | place depot   |
      | productId         | product beans |
      | quantity          | 10            |
      | totalQuantity     | nothing       |
      | childLocations    | nothing       |
      | pendingAdjustment | nothing       |

  Scenario: A place that is not known has no level
    When the level of "beans" at "nowhere" is read
    Then the answer is 404 "LocationNotFound"

  @jwt
  Scenario: A token for one place does not read another
    Given the service checks tokens
    And these places:
      | place | inside | tracked |
      | shop  |        | yes     |
      | depot |        | yes     |
    And I carry a token of the job "Regional Stock Auditor" for "shop"
    When the level of "beans" at "depot" is read
    Then the answer is 403 "PermissionDenied"
    When the level of "beans" at "shop" is read
    Then the answer is 200

  Scenario: An untracked place holds what the tracked places inside it hold
    Given "depot" holds 10 "beans"
    And "rack" holds 5 "beans"
    When the level of "beans" at "region" is read
    Then the answer is 200
    And the answer says:
      | locationId    | place region |
      | quantity      | nothing      |
      | totalQuantity | 15           |
    And inside "region" the answer has "depot" with 10 of 15 and 0 pending

  Scenario: An untracked place with nothing tracked inside it holds nothing
    When the level of "beans" at "island" is read
    Then the answer is 200
    And the answer says:
      | quantity      | nothing |
      | totalQuantity | 0       |

  Scenario: An untracked place alone has no quantity at all
    Given "depot" holds 10 "beans"
    When the level of "beans" at "region" alone is read
    Then the answer is 200
    And the answer says:
      | locationId     | place region  |
      | productId      | product beans |
      | quantity       | nothing       |
      | totalQuantity  | nothing       |
      | childLocations | nothing       |

  Scenario: A product that nobody ever delivered is not there
    When the level of "unicorns" at "depot" is read
    Then the answer is 200
    And the answer says:
      | quantity      | 0       |
      | totalQuantity | 0       |
      | lastUpdated   | nothing |

  Scenario: The total of a region is that of its shops, and no other region leaks in
    Given these places:
      | place  | inside | tracked |
      | north  |        | no      |
      | south  |        | no      |
      | york   | north  | yes     |
      | leeds  | north  | yes     |
      | dover  | south  | yes     |
    And "york" holds 10 "beans"
    And "leeds" holds 7 "beans"
    And "dover" holds 100 "beans"
    Then the total of "beans" at "north" is 17
    And the total of "beans" at "south" is 100

  Scenario: What could not be met is in no total
    Given "hall" holds 50 "beans" with -3 pending
    Then the total of "beans" at "depot" is 50

  Scenario: Names with odd characters are names like any other
    Given these places:
      | place                | inside | tracked |
      | Läden & Söhne/№ 5 %2F |        | yes     |
    When 3 "50% | off?" are delivered to "Läden & Söhne/№ 5 %2F"
    Then the answer is 201
    And the level of "50% | off?" at "Läden & Söhne/№ 5 %2F" is 3

  Scenario: A level as it was at a time, with all that is known today
    When 10 "beans" are delivered to "depot" at 09:00
    And 4 "beans" are sold at "depot" at 11:00
    And 1 "beans" is sold at "depot" at 10:00
    Then the level of "beans" at "depot" as of 10:30 is 9
    And the level of "beans" at "depot" as of 08:00 is 0
    And the level of "beans" at "depot" is 5
