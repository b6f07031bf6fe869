"""boto3 as a process: one request per line of its input, one answer per line of its output.

A line is {"action", "input"}; an answer is {"output"} or {"error": {"name", "code", "message", "status"}}. Bytes are
{"$bytes": base64}. The first line says which client is wanted, and is answered with the one there is.

A botocore of before the end of 2023 knows SQS by the query protocol alone. Its own AWS JSON is used where that is
wanted, by a copy of its model of SQS that names the other protocol, without what belongs to forms and XML.
"""

import base64
import json
import os
import sys
import tempfile

import boto3
import botocore
import botocore.config
import botocore.exceptions
import botocore.loaders
import botocore.session


def main():
    wanted = json.loads(sys.stdin.readline())
    session = botocore.session.Session()
    model = session.get_service_model("sqs")
    native = model.metadata["protocol"]
    with tempfile.TemporaryDirectory() as folder:
        if wanted["protocol"] != native:
            if wanted["protocol"] != "json":
                return say({"protocols": [native], "version": boto3.__version__})
            write_json_model(session, folder)
            session.set_config_variable("data_path", folder)
            loader = botocore.loaders.create_loader(folder)
            session.register_component("data_loader", loader)
        client = client_of(session, wanted)
        say(
            {
                "version": boto3.__version__,
                "protocols": [native],
                "speaks": client.meta.service_model.metadata["protocol"],
                "actions": sorted(client.meta.service_model.operation_names),
            }
        )
        for line in sys.stdin:
            asked = json.loads(line)
            say(answer(client, asked["action"], asked["input"]))


def write_json_model(session, folder):
    loader = session.get_component("data_loader")
    model = json.loads(json.dumps(loader.load_service_model("sqs", "service-2")))
    model["metadata"].update(protocol="json", jsonVersion="1.0", targetPrefix="AmazonSQS")
    for shape in model["shapes"].values():
        of_xml(shape)
        for inner in ("member", "key", "value"):
            of_xml(shape.get(inner, {}))
        for member in shape.get("members", {}).values():
            of_xml(member)
    at = os.path.join(folder, "sqs", "2012-11-05")
    os.makedirs(at)
    with open(os.path.join(at, "service-2.json"), "w") as file:
        json.dump(model, file)


def of_xml(shape):
    """What only says how it is written in a form and in XML is left out."""
    shape.pop("locationName", None)
    shape.pop("flattened", None)


def client_of(session, wanted):
    config = {"retries": {"max_attempts": 0}, "read_timeout": 60}
    if wanted["signing"] == "unsigned":
        config["signature_version"] = botocore.UNSIGNED
    return boto3.Session(botocore_session=session).client(
        "sqs",
        endpoint_url=wanted["endpoint"],
        region_name=wanted["region"],
        aws_access_key_id=wanted["accessKeyId"],
        aws_secret_access_key=wanted["secretAccessKey"],
        config=botocore.config.Config(**config),
    )


def answer(client, action, given):
    try:
        output = getattr(client, botocore.xform_name(action))(**decoded(given))
    except botocore.exceptions.ClientError as error:
        said = error.response["Error"]
        return {
            "error": {
                "name": type(error).__name__,
                "code": said["Code"],
                "message": said["Message"],
                "status": error.response["ResponseMetadata"]["HTTPStatusCode"],
            }
        }
    except botocore.exceptions.BotoCoreError as error:
        return {"error": {"name": type(error).__name__, "code": "", "message": str(error), "status": 0}}
    output.pop("ResponseMetadata")
    return {"output": encoded(output)}


def decoded(value):
    if isinstance(value, list):
        return [decoded(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "$bytes" in value:
        return base64.b64decode(value["$bytes"])
    return {key: decoded(one) for key, one in value.items()}


def encoded(value):
    if isinstance(value, list):
        return [encoded(one) for one in value]
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if not isinstance(value, dict):
        return value
    return {key: encoded(one) for key, one in value.items()}


def say(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


main()
