Feature: The queue of tests
  Tests are begun, started and run in turn. The queue knows where each of them is, hands every request to
  whoever can answer it, and goes on whatever becomes of a single test.

  Rule: Initialization

    Scenario: A test begins in Setup under an id of its own
      When test "a" is begun
      Then it is answered with "Test initialized"
      And test "a" is in Setup
      And the queue counts:
        | total | setup |
        | 1     | 1     |

    Scenario: Each test has an actor that is named after it
      When test "a" is begun
      And test "b" is begun
      Then test "a" has an actor of its own
      And test "b" has an actor of its own

    Scenario Outline: <count> tests that are begun at once are <count> tests
      When <count> tests are begun at once
      Then each of them has another id
      And the queue counts:
        | total   | setup   |
        | <count> | <count> |

      Examples:
        | count |
        | 1     |
        | 2     |
        | 50    |

    Scenario: A request that is sent again begins nothing more
      When test "a" is begun by request "r-1"
      And test "b" is begun by request "r-1"
      Then test "a" and test "b" are the same
      And the queue counts:
        | total | setup |
        | 1     | 1     |

    Scenario: A test that nobody starts goes by itself
      Given an orchestrator with:
        | setupMs | 60000 |
      When test "a" is begun
      And 60 seconds go by
      Then test "a" has no actor
      And test "a" has ended timed-out
      And the queue counts:
        | total |
        | 0     |

  Rule: Routing

    Scenario: A start is answered by the test, with where it stands
      Given tests "a, b" wait for their bundles
      And test "c" is begun
      When test "c" is started with bundle "/bundles/orders" as "smoke"
      Then it is accepted with "Test loading initiated"
      And it stands at position 3

    Scenario: A status is answered by the test, with what it was started with
      Given test "a" is begun
      When test "a" is started with bundle "/bundles/orders" as "smoke"
      Then the status of test "a" has:
        | bucket   | /bundles/orders |
        | testType | smoke           |

    Scenario: A cancel is answered by the test, and ends it
      Given test "a" is begun
      When test "a" is cancelled
      Then it is cancelled
      And test "a" has no actor

    Scenario: The queue answers for itself while tests are busy
      Given tests "a, b" wait for their bundles
      When the queue is asked for its status
      Then no time has gone by
      And the queue counts:
        | total | loading | pending |
        | 2     | 2       | 2       |

    Scenario: A status of a test whose actor is gone comes from its record
      Given test "a" has passed
      When 61 seconds go by
      Then test "a" has no actor
      And test "a" has ended passed

    Scenario Outline: Nobody is asked to <request> a test that is not there
      When somebody wants to <request> a test that is not there
      Then it is refused as "no-such-test"
      And the queue counts:
        | total |
        | 0     |

      Examples:
        | request |
        | start   |
        | look at |
        | cancel  |
        | extend  |
        | retry   |

  Rule: State communication

    Scenario Outline: The queue knows of a test in <state>
      When a test is brought to <state>
      Then the queue counts:
        | total | setup   | loading   | loaded   | testing   | completed   | exception   |
        | 1     | <setup> | <loading> | <loaded> | <testing> | <completed> | <exception> |

      Examples:
        | state     | setup | loading | loaded | testing | completed | exception |
        | Setup     | 1     | 0       | 0      | 0       | 0         | 0         |
        | Loading   | 0     | 1       | 0      | 0       | 0         | 0         |
        | Loaded    | 0     | 0       | 1      | 0       | 0         | 0         |
        | Testing   | 0     | 0       | 0      | 1       | 0         | 0         |
        | Completed | 0     | 0       | 0      | 0       | 1         | 0         |
        | Exception | 0     | 0       | 0      | 0       | 0         | 1         |

    Scenario: Counts of a mixed crowd are exact and add up
      Given 2 tests are in Setup
      And a test is brought to Completed
      And a test is brought to Exception
      And a test is brought to Testing
      And 3 tests are started and stand ready behind it
      And 2 tests are in Loading
      Then the queue counts:
        | total | setup | loading | loaded | testing | completed | exception |
        | 10    | 2     | 2       | 3      | 1       | 1         | 1         |

    Scenario: One runs at a time, in the order of their starts
      When tests "a, b, c" are started
      Then test "a" runs alone
      When the run of test "a" passes
      Then test "b" runs alone
      When the run of test "b" passes
      Then test "c" runs alone
      When the run of test "c" passes
      Then nobody runs

    Scenario: The second runs no sooner than the first has ended
      Given tests "a, b" are started
      When 60 seconds go by
      Then test "a" runs alone
      And test "b" is in Loaded

    Scenario Outline: A run that <end> makes room for the next
      Given tests "a, b" are started
      When the run of test "a" <end>
      Then test "a" has ended <outcome>
      And test "b" runs alone

      Examples:
        | end                      | outcome   |
        | passes                   | passed    |
        | fails                    | failed    |
        | breaks                   | errored   |
        | is cancelled             | cancelled |
        | takes too long           | timed-out |
        | loses its actor          | errored   |
        | loses its storage        | errored   |
        | cannot keep its evidence | passed    |

    Scenario: As many run at a time as there are slots
      Given an orchestrator with:
        | slots | 3 |
      When tests "a, b, c, d, e" are started
      Then tests "a, b, c" run
      When the run of test "b" passes
      Then tests "a, c, d" run

    Scenario: By default the first that is ready runs
      Given bundles of "slow" take their time
      When tests "slow, quick" are started
      Then test "quick" runs alone

    Scenario: Strictly in order, nobody overtakes
      Given an orchestrator with:
        | policy | strict |
      And bundles of "slow" take their time
      When tests "slow, quick" are started
      Then nobody runs
      When the bundle of "slow" comes
      Then test "slow" runs alone

    Scenario: Higher priorities go first
      Given test "running" is started
      And test "low" is started with priority 1
      And test "high" is started with priority 9
      When the run of test "running" passes
      Then test "high" runs alone

    Scenario: Two that want the same for themselves do not run together
      Given an orchestrator with:
        | slots | 2 |
      And test "a" is started holding "orders-db" alone
      And test "b" is started holding "orders-db" alone
      And test "c" is started
      Then tests "a, c" run
      When the run of test "a" passes
      Then tests "b, c" run

    Scenario: A paused queue starts nothing until it is opened
      Given the queue is paused
      When tests "a, b" are started
      Then nobody runs
      When the queue is opened
      Then test "a" runs alone

    Scenario: A draining queue takes nothing and lets those that run come to their end
      Given test "a" is started
      And test "late" is begun
      When the queue is drained
      Then test "late" cannot be started because it is "draining"
      And no further test can be begun
      When the run of test "a" passes
      Then the drain is over

  Rule: Edge cases

    Scenario: A start that comes again changes nothing
      Given tests "a, b" are started
      When test "b" is started with bundle "/bundles/a"
      Then it is accepted with "Test loading initiated"
      And the queue counts:
        | total | testing | loaded | pending |
        | 2     | 1       | 1      | 1       |

    Scenario: A start with something else is refused, and changes nothing
      Given tests "a, b" are started
      When test "b" is started with bundle "/bundles/other"
      Then it is not accepted because it is "already-started"
      And the status of test "b" has:
        | bucket | /bundles/a |

    Scenario: The line has an end
      Given an orchestrator with:
        | depth | 2 |
      And tests "running, b, c" are started
      And test "d" is begun
      When test "d" is started with bundle "/bundles/a"
      Then it is not accepted because it is "queue-full"
      When the run of test "running" passes
      And test "d" is started with bundle "/bundles/a"
      Then it is accepted with "Test loading initiated"

    Scenario Outline: A test that is cancelled in <state> never runs again
      Given a test is brought to <state>
      When that test is cancelled
      Then it is cancelled
      And that test has ended cancelled
      And nobody runs

      Examples:
        | state   |
        | Setup   |
        | Loading |
        | Loaded  |
        | Testing |

    Scenario Outline: A test in <state> cannot be cancelled any more
      Given a test is brought to <state>
      When that test is cancelled
      Then it is not cancelled: "<message>"

      Examples:
        | state     | message                                      |
        | Completed | Test already completed, cannot cancel        |
        | Exception | Test in exception state, cleanup in progress |

    Scenario: Whoever is cancelled in line leaves the others in theirs
      Given tests "a, b, c" are started
      When test "b" is cancelled
      And the run of test "a" passes
      Then test "c" runs alone

    Scenario: Whoever dies in line leaves the others in theirs
      Given tests "a, b, c" are started
      When the actor of test "b" dies
      And the run of test "a" passes
      Then test "b" has ended errored
      And test "c" runs alone

    Scenario: A test that could not be loaded frees its place
      Given bundles of "broken" cannot be fetched
      When tests "broken, b" are started
      Then test "broken" has ended errored
      And test "b" runs alone

    Scenario: The end of one that was waiting starts nobody
      Given tests "a, b, c" are started
      When test "c" is cancelled
      Then test "a" runs alone

    Scenario: Everything is as it was after the server was killed
      Given an orchestrator with:
        | policy | strict |
      And tests "a, b, c" are started
      And the run of test "a" passes
      When the server is killed and starts again
      Then test "a" has ended passed
      And test "b" runs alone
      And test "b" is in its attempt 2
      And test "c" is in Loaded

    Scenario: A test that is interrupted each time comes to an end
      Given an orchestrator with:
        | attempts | 2      |
        | policy   | strict |
      And tests "a, b" are started
      When the server is killed and starts again
      And the server is killed and starts again
      Then test "a" has ended interrupted
      And test "b" runs alone

    Scenario: A test that has ended can be run again
      Given test "a" has passed
      When test "a" is to be run again
      Then it is accepted with "Test loading initiated"
      And test "a" runs alone
      And test "a" is in its attempt 2

    Scenario: An empty queue has nothing to do
      When 3600 seconds go by
      Then nobody runs
      And the queue counts:
        | total | pending |
        | 0     | 0       |

  Rule: Performance

    Scenario: Requests wait for no clock
      When 200 tests are begun at once
      And all of them are started at once
      Then no time has gone by
      And one of them runs

    Scenario: A long line is worked off without a slot standing idle
      Given an orchestrator with:
        | slots | 10 |
      And every run takes a second
      When 200 tests are begun at once
      And all of them are started at once
      And 20 seconds go by
      Then all of them have passed
      And never more than 10 ran at a time

    Scenario Outline: To <request> one test is as much work among many as among few
      Given the work to <request> one test among 10 is known
      Then it is the same among 300

      Examples:
        | request |
        | begin   |
        | start   |
        | look at |
        | cancel  |
