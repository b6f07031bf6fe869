/* Brokers that speak the protocol of Kafka, on loopback, for tests: the mock cluster of librdkafka as a
 * process. It prints its bootstrap servers, then takes one command a line and answers each with a line:
 *
 *   topic <name> <partitions>      makes a topic
 *   refuse <name> <error>          answers whoever asks for a topic with an error
 *   down <broker> | up <broker>    closes its connections and refuses new ones, or takes them again
 *   slow <broker> <ms>             every answer takes so long
 *   fail <api key> <error> <times> answers so many requests of a kind with an error
 *
 * It ends with its standard input. */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>

static rd_kafka_resp_err_t carry_out(rd_kafka_mock_cluster_t *cluster, const char *line) {
  char name[256];
  int first, second, third;
  if (sscanf(line, "topic %255s %d", name, &first) == 2)
    return rd_kafka_mock_topic_create(cluster, name, first, 1);
  if (sscanf(line, "refuse %255s %d", name, &first) == 2) {
    rd_kafka_mock_topic_set_error(cluster, name, first);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
  }
  if (sscanf(line, "down %d", &first) == 1) return rd_kafka_mock_broker_set_down(cluster, first);
  if (sscanf(line, "up %d", &first) == 1) return rd_kafka_mock_broker_set_up(cluster, first);
  if (sscanf(line, "slow %d %d", &first, &second) == 2)
    return rd_kafka_mock_broker_set_rtt(cluster, first, second);
  if (sscanf(line, "fail %d %d %d", &first, &second, &third) == 3) {
    while (third-- > 0) rd_kafka_mock_push_request_errors(cluster, (int16_t)first, 1, second);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
  }
  return RD_KAFKA_RESP_ERR__INVALID_ARG;
}

int main(int count, char **arguments) {
  char problem[512], line[512];
  rd_kafka_t *client =
      rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), problem, sizeof problem);
  if (client == NULL) {
    fprintf(stderr, "%s\n", problem);
    return 1;
  }
  rd_kafka_mock_cluster_t *cluster =
      rd_kafka_mock_cluster_new(client, count > 1 ? atoi(arguments[1]) : 1);
  printf("%s\n", rd_kafka_mock_cluster_bootstraps(cluster));
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    rd_kafka_resp_err_t error = carry_out(cluster, line);
    printf("%s\n", error == RD_KAFKA_RESP_ERR_NO_ERROR ? "ok" : rd_kafka_err2str(error));
    fflush(stdout);
  }
  rd_kafka_mock_cluster_destroy(cluster);
  rd_kafka_destroy(client);
  return 0;
}
